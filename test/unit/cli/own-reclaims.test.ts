import { expect, it } from 'vitest';
import { ownReclaims } from '../../../cli/start/run-region.ts';
import { memoryStores } from '../../support/fakes/stores.ts';

const AT = '2026-11-29T12:00:00.000Z';
const JOB = 'digits-000001-a2-0a1b2c';

it("marks the market's interruptions once, also earlier ones", async () => {
  const stores = memoryStores();
  const screen = { problem: (text: string) => expect.unreachable(text) } as never;
  const reclaims = ownReclaims({ kind: 'demo' }, () => new Date(AT));
  reclaims.add(JOB);
  reclaims.follow({ stores, screen });
  reclaims.add(JOB);
  reclaims.add('a-job-of-another-program');
  await expect.poll(() => stores.timeline.list('digits-000001')).toHaveLength(1);
  expect(await stores.timeline.list('digits-000001')).toEqual([
    {
      id: 'local-market-2',
      at: AT,
      kind: 'LocalMarketReclaimed',
      text: "attempt 2: this machine's market takes its Spot capacity, as it does once with each run (--market calm: never)",
    },
  ]);
});
