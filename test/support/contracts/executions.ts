/**
 * What every Executions does: run on the fake and on Step Functions. An execution of the pipeline `ends` ends at
 * once, one of `held` with the error of a record that cannot be read, one of `waits` runs until it is stopped, one of
 * `token` waits for a task token.
 */
import { describe, expect, it } from 'vitest';
import type { Executions, StartedRun } from '../../../functions/records/ports.ts';

export interface ExecutionsGround {
  readonly executions: Executions;
  /** The answer for the token of a stopped execution; AWS says TaskTimedOut, so `stale`. */
  readonly afterStop: 'stale' | 'delivered';
  /** The token that an execution of mode `token` waits for. */
  readonly tokenOf: (name: string) => Promise<string>;
  /** Ends an execution from outside. */
  readonly stop: (name: string) => Promise<void>;
  /** Until the execution has the status. */
  readonly until: (name: string, status: 'running' | 'ended' | 'held') => Promise<void>;
  /** What the token's holder answered, as the execution got it. */
  readonly outputOf: (name: string) => Promise<unknown>;
}

const started = (runId: string, pipeline: 'ends' | 'held' | 'waits' | 'token'): StartedRun => ({
  runId,
  pipeline,
  execution: 1,
});

export function executionsContract(name: string, open: () => Promise<ExecutionsGround>): void {
  describe(`${name} as Executions`, () => {
    it('knows nothing of a name that was never started', async () => {
      const { executions } = await open();
      expect(await executions.status('never-000001-x1')).toBeUndefined();
    });

    it('starts, and says that it runs', async () => {
      const { executions } = await open();
      expect(await executions.start(started('runs-000001', 'waits'))).toBe('started');
      expect(await executions.status('runs-000001-x1')).toBe('running');
    });

    it('treats a repeated start as the same running execution', async () => {
      const { executions } = await open();
      await executions.start(started('again-000001', 'waits'));
      // Step Functions answers a repeated start as if it had started now, so both answers say: it runs.
      expect(['started', 'running']).toContain(await executions.start(started('again-000001', 'waits')));
    });

    it('takes many starts at once for one execution', async () => {
      const { executions, until } = await open();
      const run = started('race-000001', 'waits');
      const answers = await Promise.all(Array.from({ length: 10 }, () => executions.start(run)));
      expect(answers).not.toContain('closed');
      await until('race-000001-x1', 'running');
    });

    it('never starts the name of an ended execution', async () => {
      const { executions, until } = await open();
      await executions.start(started('ended-000001', 'ends'));
      await until('ended-000001-x1', 'ended');
      expect(await executions.start(started('ended-000001', 'ends'))).toBe('closed');
      expect(await executions.status('ended-000001-x1')).toBe('ended');
    });

    it('tells an execution that is held', async () => {
      const { executions, until } = await open();
      await executions.start(started('held-000001', 'held'));
      await until('held-000001-x1', 'held');
      expect(await executions.status('held-000001-x1')).toBe('held');
    });

    it("delivers the answer once to the token's waiting task", async () => {
      const { executions, tokenOf, outputOf } = await open();
      await executions.start(started('token-000001', 'token'));
      const token = await tokenOf('token-000001-x1');
      expect(await executions.succeed(token, { outcome: 'completed' })).toBe('delivered');
      expect(await outputOf('token-000001-x1')).toEqual({ outcome: 'completed' });
      expect(await executions.succeed(token, { outcome: 'completed' })).toBe('stale');
    });

    it("changes nothing with a stopped execution's token", async () => {
      const { executions, tokenOf, stop, afterStop } = await open();
      await executions.start(started('gone-000001', 'token'));
      const token = await tokenOf('gone-000001-x1');
      await stop('gone-000001-x1');
      expect(await executions.succeed(token, {})).toBe(afterStop);
      expect(await executions.status('gone-000001-x1')).toBe('ended');
    });

    it('ends a running execution, however often', async () => {
      const { executions, until } = await open();
      await executions.start(started('stopped-000001', 'waits'));
      await executions.stop('stopped-000001-x1');
      await until('stopped-000001-x1', 'ended');
      await executions.stop('stopped-000001-x1');
      await executions.stop('never-000001-x1');
      expect(await executions.start(started('stopped-000001', 'waits'))).toBe('closed');
    });

    it('calls an unknown token stale', async () => {
      const { executions } = await open();
      expect(await executions.succeed('no-such-token', {})).toBe('stale');
    });
  });
}
