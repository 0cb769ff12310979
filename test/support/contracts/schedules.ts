/** What every Schedules does: run on the fake and on EventBridge Scheduler. */
import { describe, expect, it } from 'vitest';
import type { Schedules } from '../../../functions/records/ports.ts';

export interface SchedulesGround {
  readonly schedules: Schedules;
  /** The expression that stands for a pipeline, asked of the service itself. */
  readonly read: (pipeline: string) => Promise<string | undefined>;
}

export function schedulesContract(name: string, open: () => Promise<SchedulesGround>): void {
  describe(`${name} as Schedules`, () => {
    it('creates a schedule', async () => {
      const { schedules, read } = await open();
      expect(await schedules.put('created', 'rate(1 day)')).toEqual({ kind: 'set' });
      expect(await read('created')).toBe('rate(1 day)');
    });

    it('replaces a schedule', async () => {
      const { schedules, read } = await open();
      await schedules.put('replaced', 'rate(1 day)');
      await schedules.put('replaced', 'cron(0 3 * * ? *)');
      expect(await read('replaced')).toBe('cron(0 3 * * ? *)');
    });

    it('refuses an impossible expression and changes nothing', async () => {
      const { schedules, read } = await open();
      await schedules.put('refused', 'rate(1 day)');
      for (const name of ['refused', 'refused-new'])
        expect(await schedules.put(name, 'cron(every day)')).toMatchObject({
          kind: 'refused',
          reason: expect.stringContaining('cron(every day)') as string,
        });
      expect(await read('refused')).toBe('rate(1 day)');
      expect(await read('refused-new')).toBeUndefined();
    });

    it('removes a schedule, also when there is none', async () => {
      const { schedules, read } = await open();
      await schedules.put('removed', 'rate(1 hour)');
      expect(await schedules.has('removed')).toBe(true);
      await schedules.remove('removed');
      await schedules.remove('removed');
      expect(await schedules.has('removed')).toBe(false);
      expect(await read('removed')).toBeUndefined();
    });

    it('keeps the pipelines apart', async () => {
      const { schedules, read } = await open();
      await schedules.put('one', 'rate(1 hour)');
      await schedules.put('two', 'rate(2 hours)');
      await schedules.remove('one');
      expect(await read('two')).toBe('rate(2 hours)');
    });
  });
}
