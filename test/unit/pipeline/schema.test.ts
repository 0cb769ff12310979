import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SCHEMA_FILE, schemaText } from '../../../cli/write-schema.ts';

it("is what editors get: docs/pipeline.schema.json is today's schema (npm run schema renews it)", () => {
  expect(readFileSync(SCHEMA_FILE, 'utf8')).toBe(schemaText());
});
