/** `npm run generate`: everything in the project that is written from something else. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { generatedFiles } from './generated-files.ts';

const ROOT = path.join(import.meta.dirname, '../..');
/** Reads docs/openapi.json. */
const PYTHON_CLIENT = {
  script: 'training/client/write_operations.py',
  writes: 'training/client/tidewheel_client/operations.py',
};

const USAGE = `npm run generate

Writes the template, the state machine, the schemas and the agent's and clients' copies of them:
${[...Object.keys(generatedFiles()), PYTHON_CLIENT.writes].map((file) => `  ${file}`).join('\n')}
It takes no options.`;

await runCommand(USAGE, async (args) => {
  readCommandLine(args, { schema: z.object({}) });
  for (const [file, text] of Object.entries(generatedFiles())) await writeFile(path.join(ROOT, file), text);
  await promisify(execFile)(path.join(ROOT, '.venv/bin/python'), [path.join(ROOT, PYTHON_CLIENT.script)]);
  return 0;
});
