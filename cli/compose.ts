/** `npm run compose`: writes the files of the template that are made from descriptions; a test compares them. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { functionsDocument } from '../functions/functions.ts';
import { alarmsDocument } from '../serverless/alarms.ts';
import { toYaml } from '../serverless/describe/cloudformation.ts';
import { rolesDocument } from '../serverless/roles.ts';
import { stateMachineDocument } from '../serverless/state-machine.ts';
import { machine } from '../statemachines/run.ts';

const ROOT = path.join(import.meta.dirname, '..');
const madeFrom = (source: string): string =>
  `Written by \`npm run compose\` from ${source}; edit those instead.`;

/** Text of each file, by its path in the project. */
export const composed: Readonly<Record<string, string>> = {
  'serverless/functions.yml': toYaml(functionsDocument(), madeFrom('functions/*/function.ts')),
  'serverless/roles.yml': toYaml(rolesDocument, madeFrom('functions/*/function.ts and serverless/roles.ts')),
  'serverless/state-machine.yml': toYaml(stateMachineDocument, madeFrom('serverless/state-machine.ts')),
  'serverless/alarms.yml': toYaml(alarmsDocument, madeFrom('serverless/alarms.ts')),
  'statemachines/run.asl.json': `${JSON.stringify(machine, null, 2)}\n`,
};

const USAGE = `npm run compose

Writes ${Object.keys(composed).join(', ')}. It takes no options.`;

async function main(args: readonly string[]): Promise<number> {
  readCommandLine(args, { options: {}, schema: z.object({}) });
  for (const [file, text] of Object.entries(composed)) await writeFile(path.join(ROOT, file), text);
  return 0;
}

if (import.meta.main) await runCommand(USAGE, main);
