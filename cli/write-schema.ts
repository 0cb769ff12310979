/** `npm run schema`: the pipelines' JSON Schema for editors. A test says when it is out of date. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { pipelineJsonSchema } from '../functions/core/pipeline/declaration.ts';

export const SCHEMA_FILE = join(import.meta.dirname, '../docs/pipeline.schema.json');
export const schemaText = (): string => `${JSON.stringify(pipelineJsonSchema(), null, 2)}\n`;

const USAGE = `npm run schema

Writes docs/pipeline.schema.json, the JSON Schema of a pipeline's declaration for editors. It takes no options.`;

async function main(args: readonly string[]): Promise<number> {
  readCommandLine(args, { options: {}, schema: z.object({}) });
  await writeFile(SCHEMA_FILE, schemaText());
  return 0;
}

if (import.meta.main) await runCommand(USAGE, main);
