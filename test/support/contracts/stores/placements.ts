/** What every PlacementStore does. */
import { expect, it } from 'vitest';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT, launchOf, waitOf } from '../../builders/records.ts';

export function placementStoreContract(open: () => Promise<Pick<Stores, 'placements' | 'timeline'>>): void {
  it('keeps the newest decision of each attempt, in order', async () => {
    const { placements } = await open();
    const wait = waitOf();
    const launch = launchOf();
    await placements.put('his-a-000001', 2, wait);
    await placements.put('his-a-000001', 1, wait);
    await placements.put('his-a-000001', 2, launch);
    expect(await placements.list('his-a-000001')).toEqual([
      { attempt: 1, decision: wait },
      { attempt: 2, decision: launch },
    ]);
  });

  it('keeps runs apart whose names begin alike', async () => {
    const { placements } = await open();
    const wait = waitOf();
    await placements.put('his-d-000001', 1, wait);
    expect(await placements.list('his-d-00000')).toEqual([]);
    expect(await placements.get('his-d-000001', 1)).toEqual({ attempt: 1, decision: wait });
    expect(await placements.get('his-d-000001', 2)).toBeUndefined();
  });

  it('keeps timeline and placements of a run apart', async () => {
    const { placements, timeline } = await open();
    await timeline.add('his-c-000001', { id: 'a', at: AT, kind: 'Note', text: 'mine' });
    expect(await placements.list('his-c-000001')).toEqual([]);
  });
}
