import { describe, expect, it } from 'vitest';
import { HedgedTransport } from '../../../../functions/aws/s3/hedge.ts';
import type { Answer, Exchange, Transport } from '../../../../functions/aws/s3/http-transport.ts';
import { send } from '../../../support/fakes/send.ts';

const LIMITS = { memory: 10, factor: 3, leastMilliseconds: 50, budget: 0.5 };
const GET: Exchange = { method: 'GET', path: '/', headers: [] };
/** The hedge writes into an exchange that it sends. */
const read = (): Exchange => ({ ...GET });

/** A transport whose answers come when the test's clock says so. */
function clockwork(delays: readonly number[]) {
  let now = 0;
  const due: { at: number; call: () => void }[] = [];
  const after = (milliseconds: number, call: () => void): (() => void) => {
    const entry = { at: now + milliseconds, call };
    due.push(entry);
    return () => {
      const index = due.indexOf(entry);
      if (index >= 0) due.splice(index, 1);
    };
  };
  const left = [...delays];
  const aborted: number[] = [];
  const memories: (Uint8Array | undefined)[] = [];
  let sent = 0;
  const transport: Transport = {
    dispatch: ({ cancellation, into }, receiver) => {
      const number = sent;
      sent += 1;
      memories.push(into);
      const cancel = after(left.shift() ?? 10, () =>
        receiver.answered({ status: 200, headers: { number: String(number) }, chunks: [], size: 0 }),
      );
      if (cancellation === undefined) return;
      cancellation.abort = () => {
        cancel();
        aborted.push(number);
        receiver.failed(new Error('aborted'));
      };
    },
    close: () => Promise.resolve(),
  };
  const run = async (until: number): Promise<void> => {
    for (;;) {
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      const next = due.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > until) break;
      due.splice(due.indexOf(next), 1);
      now = next.at;
      next.call();
    }
    now = until;
  };
  const hedged = new HedgedTransport(transport, { now: () => now, after }, LIMITS);
  const warmUp = async (): Promise<void> => {
    for (let request = 0; request < LIMITS.memory; request += 1) {
      const answer = send(hedged, read());
      await run(now + 10);
      await answer;
    }
  };
  return { hedged, run, warmUp, aborted, memories, now: () => now };
}

const WARM = Array.from({ length: LIMITS.memory }, () => 10);

describe('a read that hangs', () => {
  it('is overtaken by a second try, and dropped', async () => {
    const world = clockwork([...WARM, 5_000, 10]);
    await world.warmUp();
    const answer = send(world.hedged, read());
    await world.run(world.now() + 100);
    const { headers }: Answer = await answer;
    expect(headers['number']).toBe(String(LIMITS.memory + 1));
    expect(world.aborted).toEqual([LIMITS.memory]);
  });

  it('is tried again into other memory', async () => {
    const world = clockwork([...WARM, 5_000, 10]);
    await world.warmUp();
    const into = new Uint8Array(4);
    const answer = send(world.hedged, { ...GET, into });
    await world.run(world.now() + 100);
    await answer;
    expect(world.memories.slice(-2)).toEqual([into, undefined]);
  });

  it('fails only when every try has failed', async () => {
    let failing: (() => void)[] = [];
    let now = 0;
    const late: (() => void)[] = [];
    const hedged = new HedgedTransport(
      {
        dispatch: (_exchange, receiver) => {
          if (now < 100) receiver.answered({ status: 200, headers: {}, chunks: [], size: 0 });
          else failing.push(() => receiver.failed(new Error(`try ${failing.length}`)));
        },
        close: () => Promise.resolve(),
      },
      { now: () => now, after: (_milliseconds, call) => (late.push(call), () => {}) },
      LIMITS,
    );
    for (let request = 0; request < LIMITS.memory; request += 1) await send(hedged, read());
    now = 100;
    const answer = send(hedged, read());
    now = 1_000;
    late.shift()?.();
    const [first, second] = failing;
    first?.();
    failing = [];
    second?.();
    await expect(answer).rejects.toThrow('try 0');
  });

  it('is hedged only with known latencies', async () => {
    const cold = clockwork([200]);
    const first = send(cold.hedged, read());
    await cold.run(300);
    await first;
    const warm = clockwork([...WARM, 200]);
    await warm.warmUp();
    const write = send(warm.hedged, { ...GET, method: 'PUT' });
    await warm.run(warm.now() + 300);
    await write;
    expect([cold.hedged.hedges, warm.hedged.hedges]).toEqual([0, 0]);
  });

  it('is found among hundreds that were answered meanwhile', async () => {
    const world = clockwork([...WARM, 5_000, ...Array.from({ length: 300 }, () => 10)]);
    await world.warmUp();
    const answer = send(world.hedged, read());
    const others = Array.from({ length: 150 }, () => send(world.hedged, read()));
    await world.run(world.now() + 20);
    await Promise.all(others);
    await world.run(world.now() + 100);
    const { headers }: Answer = await answer;
    expect(Number(headers['number'])).toBeGreaterThan(LIMITS.memory + 150);
    expect(world.aborted).toEqual([LIMITS.memory]);
  });

  it('is tried again only within the budget', async () => {
    const world = clockwork([...WARM, ...Array.from({ length: 200 }, () => 60)]);
    await world.warmUp();
    for (let request = 0; request < 50; request += 1) {
      const answer = send(world.hedged, read());
      await world.run(world.now() + 200);
      await answer;
    }
    expect(world.hedged.hedges).toBeGreaterThan(0);
    expect(world.hedged.hedges).toBeLessThanOrEqual(30);
  });
});
