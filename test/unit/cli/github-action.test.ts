import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { VERBS } from '../../../cli/verbs.ts';

const FILE = path.join(import.meta.dirname, '../../../docs/github-action.yml');
const workflow = z.object({
  jobs: z.object({ train: z.object({ steps: z.array(z.object({ run: z.string().optional() })) }) }),
});

it('the workflow calls verbs with options that they have', async () => {
  const { steps } = workflow.parse(parse(readFileSync(FILE, 'utf8'))).jobs.train;
  const lines = steps.flatMap(({ run = '' }) => [...run.matchAll(/^tidewheel (.+)$/gm)]);
  expect(lines.map(([, words = '']) => words.split(' ')[0])).toEqual(['check', 'apply', 'run']);
  for (const [, words = ''] of lines) {
    const [name = '', ...rest] = words.split(' ');
    const load = Object.entries(VERBS).find(([verb]) => verb === name)?.[1];
    const options = Object.keys((await load?.())?.verb.options ?? {}).map((option) => `--${option}`);
    expect(options).toEqual(expect.arrayContaining(rest.filter((word) => word.startsWith('--'))));
  }
});
