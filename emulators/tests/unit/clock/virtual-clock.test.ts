import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Presence } from '../../../clock/presence.ts';
import { VirtualClock } from '../../../clock/virtual-clock.ts';

let folder: string;
let clock: VirtualClock;
const START = 1_000_000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidewheel-clock-'));
  clock = new VirtualClock({ file: join(folder, 'clock'), startMs: START, log: () => undefined });
});

afterEach(async () => {
  await clock.close();
  rmSync(folder, { recursive: true });
});

const inFile = (): number => readFileSync(join(folder, 'clock')).readDoubleLE(0);
/** Enough for whatever the clock would do by itself. */
const meanwhile = async (): Promise<void> => {
  for (let k = 0; k < 20; k += 1) await turn();
};

const moment = (ms: number): Promise<number> =>
  new Promise((resolve) => clock.at(ms, () => resolve(clock.now())));

describe('a virtual clock', () => {
  it('stands until started, then jumps in order', async () => {
    const seen: number[] = [];
    clock.at(START + 86_400_000, () => seen.push(clock.now()));
    clock.at(START + 5, () => seen.push(clock.now()));
    await meanwhile();
    expect([seen, clock.now()]).toEqual([[], START]);
    clock.start();
    await moment(START + 86_400_001);
    expect(seen).toEqual([START + 5, START + 86_400_000]);
    expect(inFile()).toBe(START + 86_400_001);
  });

  it('has written the time before it calls back', async () => {
    clock.start();
    const written = new Promise<number>((resolve) => clock.at(START + 7, () => resolve(inFile())));
    expect(await written).toBe(START + 7);
  });

  it('stands while any program holds it', async () => {
    clock.start();
    const release = clock.hold('one');
    const also = clock.hold('another');
    const reached = moment(START + 1);
    release();
    release();
    await meanwhile();
    expect(clock.now()).toBe(START);
    also();
    expect(await reached).toBe(START + 1);
  });

  it('stops when a callback holds it', async () => {
    let release: () => void = () => undefined;
    let second = false;
    clock.at(START + 1, () => (release = clock.hold('work that takes no time')));
    clock.at(START + 2, () => (second = true));
    clock.start();
    await moment(START + 1);
    await meanwhile();
    expect([clock.now(), second]).toEqual([START + 1, false]);
    release();
    await moment(START + 3);
    expect(second).toBe(true);
  });

  it('never calls a cancelled callback', async () => {
    const seen: string[] = [];
    clock.at(START + 1, () => callOff());
    const callOff = clock.at(START + 1, () => seen.push('called'));
    clock.start();
    await moment(START + 2);
    expect(seen).toEqual([]);
  });

  it('refuses a moment that is none', async () => {
    let ended = false;
    clock.at(Number.POSITIVE_INFINITY, () => (ended = true));
    clock.start();
    await moment(START + 1);
    await meanwhile();
    expect([clock.now(), ended]).toEqual([START + 1, false]);
    expect(() => clock.at(Number.NaN, () => undefined)).toThrow(RangeError);
  });

  it('calls back at once for a past moment', async () => {
    clock.start();
    await moment(START + 10);
    expect(await moment(START + 3)).toBe(START + 10);
  });

  it('waits for every follower', async () => {
    const moments: number[] = [];
    let settle: (next: number | undefined) => void = () => undefined;
    clock.follow({
      name: 'follower',
      settle: (now) => {
        if (moments.at(-1) !== now) moments.push(now);
        return new Promise((resolve) => (settle = resolve));
      },
    });
    const reached = moment(START + 100);
    clock.start();
    await meanwhile();
    expect(clock.now()).toBe(START);
    settle(START + 40);
    await expect.poll(() => moments).toEqual([START, START + 40]);
    settle(undefined);
    expect(await reached).toBe(START + 100);
  });

  it('asks the next follower once one has settled', async () => {
    const asked: string[] = [];
    let settle: () => void = () => undefined;
    const first = () => {
      asked.push('first');
      return new Promise<undefined>((resolve) => (settle = () => resolve(undefined)));
    };
    const second = () => {
      asked.push('second');
      return Promise.resolve(undefined);
    };
    clock.follow({ name: 'first', settle: first });
    clock.follow({ name: 'second', settle: second });
    const reached = moment(START + 1);
    clock.start();
    await meanwhile();
    expect(asked).toEqual(['first']);
    settle();
    expect(await reached).toBe(START + 1);
    expect(asked.slice(0, 2)).toEqual(['first', 'second']);
  });

  it('asks followers again after work meanwhile', async () => {
    const answers: (() => void)[] = [];
    clock.follow({
      name: 'follower',
      settle: () => new Promise((resolve) => answers.push(() => resolve(undefined))),
    });
    const reached = moment(START + 1);
    clock.start();
    await expect.poll(() => answers.length).toBe(1);
    clock.hold('something short')();
    answers[0]?.();
    await expect.poll(() => answers.length).toBe(2);
    expect(clock.now()).toBe(START);
    answers[1]?.();
    expect(await reached).toBe(START + 1);
  });

  it('stands while a follower fails', async () => {
    let isThere = false;
    const settle = async () => {
      await turn();
      if (!isThere) throw new Error('gone');
      return undefined;
    };
    clock.follow({ name: 'follower', settle });
    const reached = moment(START + 1);
    clock.start();
    await meanwhile();
    expect(clock.now()).toBe(START);
    isThere = true;
    expect(await reached).toBe(START + 1);
  });
});

describe('a presence', () => {
  it('holds the clock from work to rest', async () => {
    const presence = new Presence(clock, 'worker');
    presence.work();
    presence.work();
    clock.start();
    const reached = moment(START + 1);
    await meanwhile();
    expect(clock.now()).toBe(START);
    presence.rest();
    presence.rest();
    expect(await reached).toBe(START + 1);
  });
});
