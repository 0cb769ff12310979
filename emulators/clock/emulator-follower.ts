/** The emulator as a follower of a virtual clock; emulators/aws/virtual_time.py answers. */
import { request } from 'undici';
import * as z from 'zod';
import type { Follower } from './virtual-clock.ts';

const answer = z.union([
  z.object({ next: z.number().nullable() }),
  /** The emulator waited for them as long as it may. */
  z.object({ busy: z.array(z.string()) }),
]);

export function emulatorFollower(url: string, log: (line: string) => void): Follower {
  return {
    name: 'the emulator',
    settle: async (_nowMs, signal) => {
      for (;;) {
        const reply = await request(`${url}/_tidewheel/clock`, { signal });
        const said = answer.parse(await reply.body.json());
        if ('next' in said) return said.next === null ? undefined : said.next * 1_000;
        log(`the virtual clock stands; at work in the emulator: ${said.busy.join(', ')}`);
      }
    },
  };
}
