/** Campaigns beside a training plan, decided attempt by attempt, beside the optimum that knows its hours. */
import { expect, it } from 'vitest';
import { reservedCampaigns, summaryOfReserved } from '../../../bench/placement/decided/reserved.ts';

it('wastes neither money nor hours of a plan', async () => {
  const rows = await reservedCampaigns('right', { seeds: [1, 2, 3, 4, 5, 6, 7, 8], isCalm: true });
  const { late, together, idle } = summaryOfReserved(rows);
  expect(late).toBe(0);
  expect(together).toBeLessThan(1.03);
  expect(idle).toBeLessThan(0.05);
}, 60_000);
