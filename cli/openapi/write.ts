/** `npm run openapi`: the OpenAPI document and the types of the Python client. Tests say when they are out of date. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { openApiDocument } from '../../functions/core/api/open-api.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Content by file, relative to the project. */
export function openApiFiles(): Readonly<Record<string, string>> {
  return { 'docs/openapi.json': `${JSON.stringify(openApiDocument(), null, 2)}\n` };
}

const USAGE = `npm run openapi

Writes docs/openapi.json, the OpenAPI document of the HTTP API, and the types of its Python client:
training/client/tidewheel_client/operations.py. It takes no options.`;

async function main(args: readonly string[]): Promise<number> {
  readCommandLine(args, { options: {}, schema: z.object({}) });
  for (const [file, text] of Object.entries(openApiFiles())) await writeFile(join(ROOT, file), text);
  const python = join(ROOT, '.venv/bin/python');
  await promisify(execFile)(python, [join(ROOT, 'training/client/write_operations.py')]);
  return 0;
}

if (import.meta.main) await runCommand(USAGE, main);
