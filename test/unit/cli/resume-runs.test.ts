/** The first steps of `npm start`: unfinished runs go on, and the existing pipelines are listed. */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resumeRuns, showPipelines } from '../../../cli/serve/resume-runs.ts';
import type { Screen } from '../../../cli/show/screen.ts';
import { runOf } from '../../support/builders/records.ts';
import { type MemoryStores, memoryStores } from '../../support/fakes/stores.ts';

const AT = '2026-01-01T00:00:00.000Z';
const lambda = mockClient(LambdaClient);
let stores: MemoryStores;
let lines: string[];
let ending: AbortController;
beforeEach(() => {
  lambda.reset();
  stores = memoryStores();
  lines = [];
  ending = new AbortController();
});
// Ends the wait for the second reconciliation.
afterEach(() => ending.abort());

const screen: Screen = {
  line: (text = '') => lines.push(text),
  done: (text) => lines.push(text),
  problem: (text) => lines.push(`! ${text}`),
  bar: () => undefined,
};
const session = () => ({
  stores,
  screen,
  signal: ending.signal,
  region: { clients: { lambda: new LambdaClient({ region: 'us-east-1' }) } },
});
const answers = (answer: unknown) =>
  lambda.on(InvokeCommand).resolves({ Payload: Buffer.from(JSON.stringify(answer)) as never });

it('takes up every unfinished run by one reconciliation', async () => {
  answers({ failures: [] });
  await stores.runs.create(runOf('wine', 1, { status: 'training' }));
  await stores.runs.create(runOf('beer', 7, { status: 'packing' }));
  await resumeRuns(session());
  expect(lines).toEqual([
    '  wine-000001 was not finished when the last start ended (training): it goes on',
    '  beer-000007 was not finished when the last start ended (packing): it goes on',
  ]);
  const [call, ...others] = lambda.commandCalls(InvokeCommand);
  expect(others).toEqual([]);
  expect(call?.args[0].input.FunctionName).toBe('tidewheel-dev-reconcile');
});

it('sweeps for data without an event at every start', async () => {
  answers({ failures: [] });
  await resumeRuns(session());
  const [call] = lambda.commandCalls(InvokeCommand);
  expect(call?.args[0].input.Payload).toEqual(Buffer.from('{"sweep":true}'));
  expect(lines).toEqual([]);
});

it('names the runs that it could not take up', async () => {
  answers({ failures: ['wine-000001: Rate exceeded'] });
  await resumeRuns(session());
  expect(lines).toEqual(['! not taken up yet, tried again within 5 minutes: wine-000001: Rate exceeded']);
});

it('goes on when the reconciliation fails', async () => {
  lambda.on(InvokeCommand).rejects(new Error('no such function'));
  await resumeRuns(session());
  expect(lines).toEqual(['! runs are taken up within 5 minutes, not at once: no such function']);
});

it('lists the existing pipelines with their last runs', async () => {
  for (const name of ['wine', 'beer', 'tea']) await stores.pipelines.ensure(name, { firstBatch: 1, at: AT });
  await stores.runs.create(runOf('wine', 1, { status: 'failed' }));
  await stores.runs.create(runOf('wine', 2, { status: 'succeeded' }));
  const problems = [
    { path: 'compute', message: 'is missing' },
    { path: '', message: 'has no field "frob"' },
  ];
  await stores.pipelines.setValidity('tea', { valid: false, problems, updatedAt: AT });
  expect(await showPipelines({ stores, screen })).toBe(3);
  expect(lines).toEqual([
    '  pipeline beer: no run yet',
    '! pipeline tea: no run yet; pipelines/tea.yaml is not valid: compute: is missing; (whole document): has no field "frob"',
    '  pipeline wine: last run wine-000002 succeeded',
  ]);
});
