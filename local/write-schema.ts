/** `npm run schema`: the pipelines' JSON Schema for editors. A test says when it is out of date. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipelineJsonSchema } from '../functions/core/declaration.ts';

export const SCHEMA_FILE = join(import.meta.dirname, '../docs/pipeline.schema.json');
export const schemaText = (): string => `${JSON.stringify(pipelineJsonSchema(), null, 2)}\n`;

if (import.meta.main) await writeFile(SCHEMA_FILE, schemaText());
