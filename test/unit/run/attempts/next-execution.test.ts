/** An execution has at most 25,000 events, so a run of many attempts takes several. */
import { beforeEach, describe, expect, it } from 'vitest';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { startNextExecution } from '../../../../functions/run/attempts/next-execution.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { attemptOf, outcomeOf } from '../../../support/builders/records.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const ATTEMPTS_PER_EXECUTION = 300;
const RUN = 'digits-000001';
let at: Ground;
const executions = () => [...at.executions.started.keys()];

beforeEach(async () => {
  at = ground();
  at.declare();
  await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
});

describe('the next execution', () => {
  it('starts once for repeated requests', async () => {
    for (let turn = 0; turn < 3; turn += 1)
      await startNextExecution(at, { runId: RUN, execution: `${RUN}-x1` });
    expect(executions()).toEqual([`${RUN}-x1`, `${RUN}-x2`]);
    expect(await at.runs.get(RUN)).toMatchObject({ execution: 2 });
  });

  it('starts only from the present one', async () => {
    await startNextExecution(at, { runId: RUN, execution: 'another' });
    await startNextExecution(at, { runId: 'unknown-000001', execution: 'x' });
    expect(executions()).toEqual([`${RUN}-x1`]);
  });
});

describe('the judge', () => {
  const attempts = async (count: number) => {
    for (let number = 1; number <= count; number += 1)
      await at.attempts.create(attemptOf(RUN, number, { outcome: outcomeOf('capacity') }));
  };

  it('places attempts until the execution is nearly full', async () => {
    await attempts(ATTEMPTS_PER_EXECUTION - 1);
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  });

  it('asks then for the next execution, which places more', async () => {
    await attempts(ATTEMPTS_PER_EXECUTION);
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'nextExecution' });
    await startNextExecution(at, { runId: RUN, execution: `${RUN}-x1` });
    expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  });
});
