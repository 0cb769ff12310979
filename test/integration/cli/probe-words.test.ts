/** What `tidewheel probe` answers to words that are wrong: each problem once, all of them, and nothing starts. */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { beforeAll, expect, it } from 'vitest';
import type { Surroundings } from '../../../cli/command/context.ts';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { verb } from '../../../cli/verbs/probe.ts';
import { AT } from '../../support/builders/records.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { type Ground, ground } from '../../support/world/ground.ts';
import { planDeps } from '../../support/world/plan.ts';
import { trains } from '../../support/world/training-run.ts';

let at: Ground;
let api: ApiServer;

beforeAll(async () => {
  at = ground();
  at.declare();
  await at.pipelines.ensure('digits', { firstBatch: 3, at: AT });
  await trains(at);
  api = await startApi(at, 'ada');
  api.plan = planDeps(at);
  return () => api.stop();
});

/** Nothing has started. */
async function problemsOf(...words: readonly string[]): Promise<readonly string[]> {
  const terminal = {
    ...terminalOf(process, { NO_COLOR: '1' }),
    print: () => undefined,
    note: () => undefined,
    ask: () => Promise.resolve(undefined),
  };
  const environment = { TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'ada' };
  const surroundings: Surroundings = { terminal, folder: '/tmp', environment, clone: undefined };
  const error: unknown = await verb.invoke(words, surroundings).catch((thrown: unknown) => thrown);
  expect(await at.runs.listProbes('digits', 10)).toEqual([]);
  return error instanceof UsageError ? error.problems : [messageOf(error)];
}

it('says every problem of the words at once', async () => {
  const problems = await problemsOf('digits', '--vary', 'lr=1', '--steps', '0', '--budget', '-1');
  expect(problems.join('\n')).toMatch(/--vary leaves one combination/);
  expect(problems.join('\n')).toMatch(/--steps is "0": write/);
  expect(problems.join('\n')).toMatch(/--budget is "-1": write/);
});

it('misses --vary beside other problems', async () => {
  const problems = await problemsOf('digits', '--steps', '0');
  expect(problems.join('\n')).toMatch(/--steps is "0"/);
  expect(problems.join('\n')).toMatch(/--vary is missing: name what to try/);
});

it('names a refused value once, not its combinations', async () => {
  const vary = ['--vary', 'training.strategy=ddp,nosuch', '--vary', 'compute.nodes=1,zwei'];
  const problems = await problemsOf('digits', ...vary);
  expect(problems.filter((line) => line.includes('training.strategy'))).toEqual([
    expect.stringMatching(/training.strategy=nosuch: training.strategy: is "nosuch", give one of/),
  ]);
  expect(problems.filter((line) => line.includes('compute.nodes'))).toEqual([
    expect.stringMatching(/compute.nodes=zwei: compute.nodes: is "zwei", give a number/),
  ]);
});

it('refuses a budget that starts none', async () => {
  const problems = await problemsOf('digits', '--vary', 'lr=1,2', '--budget', '0.0001');
  expect(problems.join('\n')).toMatch(/--budget is "0.0001": the cheapest combination may cost USD/);
});
