/**
 * The files that `npm run generate` writes. They are checked in, so that people read and review what is deployed and
 * published; a test compares them with what their sources say now.
 */
import { STRATEGIES, type StrategyTraits, strategyTraits } from '@tidewheel/declaration/launchers.ts';
import { pipelineJsonSchema } from '@tidewheel/declaration/read.ts';
import { OPERATIONS } from '../../functions/api/operation-table.ts';
import { openApiDocument } from '../../functions/api/shared/open-api.ts';
import { functionsDocument } from '../../functions/handlers/functions.ts';
import { alarmsDocument } from '../../serverless/alarms.ts';
import { toYaml } from '../../serverless/describe/cloudformation.ts';
import { rolesDocument } from '../../serverless/roles.ts';
import { stateMachineDocument } from '../../serverless/state-machine.ts';
import { machine } from '../../statemachines/run.ts';
import { pageList, skillPage } from './agent-pages.ts';
import { contractModule, snakeCase } from './contract.ts';

const writtenFrom = (source: string): string =>
  `Written by \`npm run generate\` from ${source}; edit those instead.`;

const json = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;

/** @returns the text of each file, by its path in the project */
export const generatedFiles = (): Readonly<Record<string, string>> => ({
  'serverless/generated/functions.yml': toYaml(
    functionsDocument(),
    writtenFrom('functions/handlers/*/function.ts'),
  ),
  'serverless/generated/roles.yml': toYaml(
    rolesDocument,
    writtenFrom('functions/handlers/*/function.ts and serverless/roles.ts'),
  ),
  'serverless/generated/state-machine.yml': toYaml(
    stateMachineDocument,
    writtenFrom('serverless/state-machine.ts'),
  ),
  'serverless/generated/alarms.yml': toYaml(alarmsDocument, writtenFrom('serverless/alarms.ts')),
  'statemachines/run.asl.json': json(machine),
  'docs/pipeline.schema.json': json(pipelineJsonSchema()),
  'docs/openapi.json': json(openApiDocument(OPERATIONS)),
  'skills/tidewheel/SKILL.md': skillPage(),
  'llms.txt': pageList(),
  'training/agent/tidewheel_agent/configuration/strategy_traits.py': strategiesModule(),
  'training/agent/for_scripts/tidewheel_contract/documents.py': contractModule(),
});

// The agent's copy of the table of strategies.

/** The traits that the agent asks for; the service alone uses the others. */
const AGENT_TRAITS = ['otherGroups', 'savedBy'] as const satisfies readonly (keyof StrategyTraits)[];

/** A module of Python as ruff formats it. */
function strategiesModule(): string {
  const fields = AGENT_TRAITS.map((trait) => `    ${snakeCase(trait)}: ${typeOf(trait)}`);
  const table = STRATEGIES.map((name) => {
    const values = AGENT_TRAITS.map((trait) => `${snakeCase(trait)}=${literal(strategyTraits[name][trait])}`);
    return `    "${name}": StrategyTraits(${values.join(', ')}),`;
  });
  return `${HEADER}
@dataclass(frozen=True)
class StrategyTraits:
    """The table in TypeScript explains the traits."""

${fields.join('\n')}


TRAITS: dict[str, StrategyTraits] = {
${table.join('\n')}
}
`;
}

const HEADER = `"""What the agent must know of each strategy.

\`npm run generate\` writes this file from packages/declaration/schema/strategies.ts: change that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

`;

const literal = (value: string): string => `"${snakeCase(value)}"`;

/** The values that occur: mypy then refuses a comparison with any other. */
const typeOf = (trait: (typeof AGENT_TRAITS)[number]): string =>
  `Literal[${[...new Set(STRATEGIES.map((name) => literal(strategyTraits[name][trait])))].join(', ')}]`;
