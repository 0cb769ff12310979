/** `--json` of the verbs that need the API alone, compared with what docs/cli.md says of each document. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Surroundings } from '../../../cli/command/context.ts';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { VERBS } from '../../../cli/verbs.ts';
import { AT, runOf } from '../../support/builders/records.ts';
import { differences, documentedShapes } from '../../support/documented.ts';
import { folderOfSuite } from '../../support/folders.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { ground } from '../../support/world/ground.ts';
import { planDeps } from '../../support/world/plan.ts';
import { trains } from '../../support/world/training-run.ts';

const RUN = 'digits-000001';
const ENDED = 'digits-000002';
const SCRIPT =
  'import torch\nparser.add_argument("--data-dir", default="images")\ntorch.save(model, "m.pt")\n';
let api: ApiServer;
const folder = folderOfSuite('documents');

beforeAll(async () => {
  await writeFile(path.join(folder, 'train.py'), SCRIPT);
  const at = ground();
  at.declare();
  await at.pipelines.ensure('digits', { firstBatch: 3, at: AT });
  await trains(at);
  await at.runs.create(runOf('digits', 2, { status: 'empty' }));
  api = await startApi(at, 'ada');
  api.plan = planDeps(at);
});

afterAll(async () => {
  api?.stop();
});

/** @returns what it prints */
async function printed(verb: keyof typeof VERBS, ...words: readonly string[]): Promise<unknown> {
  const lines: string[] = [];
  const terminal = {
    ...terminalOf(process, { NO_COLOR: '1' }),
    print: (text: string) => void lines.push(text),
    note: () => undefined,
  };
  const environment = { TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'ada' };
  const surroundings: Surroundings = { terminal, folder, environment, clone: undefined };
  await (await VERBS[verb]()).verb.invoke([...words, '--json'], surroundings);
  return JSON.parse(lines.join('\n'));
}

it.each([
  ['init', []],
  ['runs', []],
  ['check', ['tidewheel.yaml']],
  ['watch', [ENDED]],
  ['why', [RUN]],
  ['compare', [RUN, ENDED]],
  ['model', ['ls', 'digits']],
  ['probe', ['digits', '--vary', 'lr=1,2', '--dry-run']],
  ['run', ['digits', '--set', 'lr=2']],
] as const)('%s prints what is documented', async (verb, words) => {
  const document = await printed(verb, ...words);
  const found = documentedShapes(verb).map((shape) => differences(document, shape));
  expect(found.length).toBeGreaterThan(0);
  // A row may have a document for each way of calling the verb.
  expect(found.find((each) => each.length === 0) ?? found).toEqual([]);
});

it.each([
  ['cost', [], '/money'],
  ['market', [], '/market'],
] as const)('%s prints the answer of the API', async (verb, words, route) => {
  const document = await printed(verb, ...words);
  const answer: unknown = await (await fetch(`${api.url}${route}`)).json();
  expect(Object.keys(Object(document))).toEqual(Object.keys(Object(answer)));
});

it.each([
  ['limits', [RUN, '--deadline', '48'], ['runId', 'limits', 'placement']],
  ['stop', [RUN, '--yes'], ['runId', 'status', 'stop', 'unsaved']],
  [
    'plan',
    ['--pipeline', 'digits', '--files', '10', '--gigabytes', '1'],
    ['pipeline', 'packing', 'dataset', 'decision', 'findings'],
  ],
] as const)('%s prints what was decided', async (verb, words, fields) => {
  expect(Object.keys(Object(await printed(verb, ...words)))).toEqual(expect.arrayContaining([...fields]));
});

it('has a row in the documentation for every verb', () => {
  // `mcp` speaks its protocol there; its row says so.
  const silent = ['logs', 'cost', 'market', 'plan', 'stop', 'retry', 'limits', 'mcp'];
  const without = Object.keys(VERBS).filter(
    (verb) =>
      !['data', 'delete-checkpoints', ...silent].includes(verb) && documentedShapes(verb).length === 0,
  );
  expect(without).toEqual([]);
});
