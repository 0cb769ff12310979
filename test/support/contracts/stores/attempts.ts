/** What every AttemptStore does. */
import { expect, it } from 'vitest';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT, attemptOf, outcomeOf, progressOf, secondsAfter } from '../../builders/records.ts';
import { raced } from './raced.ts';

const LATER = secondsAfter(60);

export function attemptStoreContract(open: () => Promise<Pick<Stores, 'attempts'>>): void {
  it('creates an attempt once, however many try', async () => {
    const { attempts } = await open();
    const tally = await raced(8, (index) =>
      attempts.create(attemptOf('att-race-000001', 1, { taskToken: `token-${index}` })),
    );
    expect(tally).toEqual({ created: 1, exists: 7 });
  });

  it('finds an attempt by its job', async () => {
    const { attempts } = await open();
    const attempt = attemptOf('att-find-000001', 2, { taskToken: 't', progressBefore: progressOf(7) });
    await attempts.create(attempt);
    expect(await attempts.findByJob(attempt.jobName)).toEqual(attempt);
    expect(await attempts.get('att-find-000001', 2)).toEqual(attempt);
    expect(await attempts.findByJob('foreign-job')).toBeUndefined();
    expect(await attempts.get('att-find-000001', 3)).toBeUndefined();
  });

  it('lists attempts oldest first, beyond nine and a page', async () => {
    const { attempts } = await open();
    const message = 'y'.repeat(30_000);
    const numbers = Array.from({ length: 45 }, (_, index) => index + 1);
    await Promise.all(
      numbers.map((each) =>
        attempts.create(attemptOf('att-list-000001', each, { outcome: outcomeOf('capacity', { message }) })),
      ),
    );
    const listed = await attempts.list('att-list-000001');
    expect(listed.map((each) => each.attempt)).toEqual(numbers);
  }, 60_000);

  it('returns the whole attempt after a change', async () => {
    const { attempts } = await open();
    await attempts.create(attemptOf('att-token-000001', 1, { taskToken: 'first' }));
    await attempts.update('att-token-000001', 1, { taskToken: 'second', updatedAt: AT });
    const ended = await attempts.update('att-token-000001', 1, {
      outcome: outcomeOf('completed'),
      status: 'done',
      updatedAt: LATER,
    });
    expect(ended).toMatchObject({ taskToken: 'second', status: 'done', outcome: { kind: 'completed' } });
  });

  it('keeps numbers of any size', async () => {
    const { attempts } = await open();
    const metrics = { loss: 1.7e38, steps: 2 ** 60, least: -1e100 };
    await attempts.create(attemptOf('att-size-000001', 1, { progressAfter: { ...progressOf(7), metrics } }));
    expect((await attempts.get('att-size-000001', 1))?.progressAfter?.metrics).toEqual(metrics);
  });

  it('lists open attempts until they have an outcome', async () => {
    const { attempts } = await open();
    const isOpen = async () => (await attempts.listOpen()).some(({ runId }) => runId === 'att-open-000001');
    await attempts.create(attemptOf('att-open-000001', 1));
    await attempts.update('att-open-000001', 1, { status: 'running', updatedAt: AT });
    await attempts.update('att-open-000001', 1, {
      recall: { at: AT, cause: 'capacity', why: 'lost its capacity' },
      updatedAt: AT,
    });
    expect(await isOpen()).toBe(true);
    await attempts.update('att-open-000001', 1, {
      status: 'interrupted',
      outcome: outcomeOf('interrupted'),
      updatedAt: LATER,
    });
    expect(await isOpen()).toBe(false);
    await attempts.update('att-open-000001', 1, { progressAfter: progressOf(3), updatedAt: LATER });
    expect(await isOpen()).toBe(false);
  });

  it('throws RunNotFoundError for a change of an unknown attempt', async () => {
    const change = (await open()).attempts.update('att-none-000001', 1, { updatedAt: AT });
    await expect(change).rejects.toMatchObject({ name: 'RunNotFoundError' });
  });
}
