/**
 * The files that `npm run generate` writes. They are checked in, so that people read and review what is deployed and
 * published; a test compares them with what their sources say now.
 */
import { OPERATIONS } from '../../functions/core/api/operation-table.ts';
import { openApiDocument } from '../../functions/core/api/shared/open-api.ts';
import { pipelineJsonSchema } from '../../functions/core/pipeline/declaration.ts';
import { functionsDocument } from '../../functions/functions.ts';
import { alarmsDocument } from '../../serverless/alarms.ts';
import { toYaml } from '../../serverless/describe/cloudformation.ts';
import { rolesDocument } from '../../serverless/roles.ts';
import { stateMachineDocument } from '../../serverless/state-machine.ts';
import { machine } from '../../statemachines/run.ts';
import { strategiesModule } from './strategies.ts';

const writtenFrom = (source: string): string =>
  `Written by \`npm run generate\` from ${source}; edit those instead.`;

const json = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;

/** @returns the text of each file, by its path in the project */
export const generatedFiles = (): Readonly<Record<string, string>> => ({
  'serverless/functions.yml': toYaml(functionsDocument(), writtenFrom('functions/*/function.ts')),
  'serverless/roles.yml': toYaml(
    rolesDocument,
    writtenFrom('functions/*/function.ts and serverless/roles.ts'),
  ),
  'serverless/state-machine.yml': toYaml(stateMachineDocument, writtenFrom('serverless/state-machine.ts')),
  'serverless/alarms.yml': toYaml(alarmsDocument, writtenFrom('serverless/alarms.ts')),
  'statemachines/run.asl.json': json(machine),
  'docs/pipeline.schema.json': json(pipelineJsonSchema()),
  'docs/openapi.json': json(openApiDocument(OPERATIONS)),
  'training/agent/tidewheel_agent/configuration/strategy_traits.py': strategiesModule(),
});
