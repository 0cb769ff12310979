/** The policy that docs/deploy.md gives for people of one team reaches their pipelines and runs alone. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { ACCOUNT } from '../intrinsics.ts';
import { isAllowed, type Role } from '../roles.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/deploy.md'), 'utf8');
const [, written = ''] = /```json\n(\{[^`]*"execute-api:Invoke"[^`]*)```/.exec(text) ?? [];
const given: Record<string, string> = {
  region: 'us-east-1',
  account: ACCOUNT,
  api: 'abc',
  team: 'vision',
};
const statement: Role['statements'][number] = JSON.parse(
  written.replaceAll(/<(\w+)>/g, (_, name: string) => given[name] ?? ''),
);
const person: Role = { id: 'person', arn: `arn:aws:iam::${ACCOUNT}:role/person`, statements: [statement] };

/** @param pipeline whose call it is */
function may(route: string, pipeline: string): Promise<boolean> {
  const [method = '', path = ''] = route.split(' ');
  const names: Record<string, string> = { name: pipeline, runId: `${pipeline}-000001` };
  const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '7');
  return isAllowed(person, {
    action: 'execute-api:Invoke',
    resource: `arn:aws:execute-api:us-east-1:${ACCOUNT}:abc/$default/${method}${place}`,
  });
}

describe('a person of one team', () => {
  it.each(OPERATIONS.map(({ route }) => route))('may %s of its own alone', async (route) => {
    const isOfOne = route.includes('{name}') || route.includes('{runId}');
    expect(await may(route, 'vision-digits')).toBe(isOfOne);
    for (const other of ['visionary', 'speech-vision-1']) expect(await may(route, other)).toBe(false);
  });
});
