import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SCHEMA_FILE, schemaText } from '../../../cli/write-schema.ts';

it('equals docs/pipeline.schema.json, which npm run schema writes', () => {
  expect(readFileSync(SCHEMA_FILE, 'utf8')).toBe(schemaText());
});
