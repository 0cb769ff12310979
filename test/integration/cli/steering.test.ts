/** A person steers runs with verbs, over the API's own answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Surroundings } from '../../../cli/command/context.ts';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { VERBS } from '../../../cli/verbs.ts';
import { CLOSED_AT } from '../../support/builders/placement.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { type Ground, ground } from '../../support/world/ground.ts';
import { trains } from '../../support/world/training-run.ts';

const RUN = 'digits-000001';
let api: ApiServer;
let at: Ground;
let printed: string[];
let notes: string[];

beforeAll(async () => {
  api = await startApi(ground(), 'ada');
  return () => api.stop();
});

beforeEach(async () => {
  at = ground();
  api.at = at;
  at.declare();
  printed = [];
  notes = [];
  await at.pipelines.ensure('digits', { firstBatch: 2, at: CLOSED_AT });
});

/** @returns what it prints @throws what ends it */
async function tidewheel(verb: keyof typeof VERBS, ...args: readonly string[]): Promise<string> {
  const terminal = {
    ...terminalOf(process, { NO_COLOR: '1' }),
    print: (text: string) => void printed.push(text),
    note: (text: string) => void notes.push(text),
  };
  const environment = { TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'ada' };
  const surroundings: Surroundings = { terminal, folder: '/', environment, clone: undefined };
  await (await VERBS[verb]()).verb.invoke(args, surroundings);
  return printed.join('\n');
}

const limitsNow = async () => (await at.runs.get(RUN))?.declaration?.limits;

describe('limits', () => {
  it('change, and say what placement would do', async () => {
    await trains(at);
    const said = await tidewheel('limits', RUN, '--deadline', '48', '--budget', '30');
    expect(said).toContain(`${RUN} has a deadline of 48 h and a budget of $30`);
    expect(said).toMatch(/the last placement would have been:\n[^]*chosen/);
    expect(await limitsNow()).toMatchObject({ deadlineHours: 48, budgetUsd: 30 });
    await tidewheel('limits', RUN, '--budget', 'none');
    expect((await limitsNow())?.budgetUsd).toBeUndefined();
    expect(await limitsNow()).toMatchObject({ deadlineHours: 48 });
  });

  it.each([
    [[], 'name what to change'],
    [['--budget', '-3'], 'write a number above 0, or none'],
    [['--deadline', '9'], `RUN is missing: the newest is ${RUN}`],
  ])('%j is refused, and changes nothing', async (words, message) => {
    await trains(at);
    const before = await limitsNow();
    await expect(tidewheel('limits', ...words)).rejects.toThrow(message);
    expect(await limitsNow()).toEqual(before);
  });
});

describe('checkpoints', () => {
  it('of an ended run are deleted, once', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'stopped' }));
    expect(await tidewheel('delete-checkpoints', RUN)).toContain('are deleted within a day, as ada asked');
    await tidewheel('delete-checkpoints', RUN);
    expect(await at.timeline.list(RUN)).toHaveLength(1);
  });

  it('of an open run are refused', async () => {
    await trains(at);
    await expect(tidewheel('delete-checkpoints', RUN)).rejects.toThrow('stop it first');
    await tidewheel('stop', RUN, '--yes');
    await expect(tidewheel('delete-checkpoints', RUN)).rejects.toThrow('is being stopped');
    await expect(tidewheel('retry', RUN)).rejects.toThrow('is being stopped');
  });
});

it('a retry says what its script does not see', async () => {
  const training = { ...declarationOf('digits').training, arguments: ['--epochs', '3'] };
  const declaration = { ...declarationOf('digits'), training };
  await at.runs.create(
    runOf('digits', 1, { status: 'stopped', declaration, closedAt: CLOSED_AT, sealedAt: CLOSED_AT }),
  );
  await tidewheel('retry', RUN, '--set', 'lr=1');
  expect(notes.join()).toContain('training.arguments does not pass lr to the script');
});

it.each([
  ['DIGITS', 'there is no pipeline "DIGITS": did you mean digits?'],
  ['$(id)', 'there is no pipeline "$(id)": there are digits'],
])('a name that none can have is explained: %s', async (name, message) => {
  await expect(tidewheel('watch', name)).rejects.toThrow(message);
});

describe('watch', () => {
  it('waits for the first run of a pipeline', async () => {
    at = ground();
    api.at = at;
    at.declare();
    await at.pipelines.ensure('digits', { firstBatch: 1, at: CLOSED_AT });
    const watched = tidewheel('watch', 'digits');
    await vi.waitFor(() => expect(notes).toContain('waiting for the run of digits to begin'), 5_000);
    // Through some more looks.
    await sleep(1_500);
    await at.runs.create(runOf('digits', 1, { status: 'empty' }));
    expect(await watched).toContain(RUN);
    expect(notes.filter((note) => note.startsWith('waiting'))).toHaveLength(1);
  });
});
