/** When a batch is complete, read from listings alone. */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  decideSettled,
  type IncomingLook,
  lookAtIncoming,
} from '../../../../functions/run/ingest/settle-run.ts';
import { AT, secondsAfter } from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';

const SETTLE: Pipeline['settle'] = { quietSeconds: 60, maximumWaitSeconds: 600 };
const PREFIX = 'digits/incoming/';

const seen = (over: Partial<IncomingLook> = {}): IncomingLook => ({
  objects: 2,
  bytes: 10,
  fingerprint: 'abc',
  marker: false,
  undated: '',
  unchangedSince: AT,
  ...over,
});

const decideAt = (seconds: number, observation = seen(), settle = SETTLE) =>
  decideSettled(observation, settle, { now: new Date(secondsAfter(seconds)), openedAt: new Date(AT) });

describe('a batch', () => {
  it('is settled exactly when the settle window has passed', () => {
    expect(decideAt(58.5)).toEqual({ kind: 'wait', seconds: 1.5 });
    expect(decideAt(60)).toEqual({ kind: 'settled', reason: 'quiet' });
  });

  it('is settled at once by its marker', () => {
    expect(decideAt(1, seen({ marker: true }))).toEqual({ kind: 'settled', reason: 'marker' });
  });

  it('is settled after the maximum wait despite new objects', () => {
    const busy = (seconds: number) => decideAt(seconds, seen({ unchangedSince: secondsAfter(seconds - 1) }));
    expect(busy(590)).toEqual({ kind: 'wait', seconds: 10 });
    expect(busy(600)).toEqual({ kind: 'settled', reason: 'maximumWait' });
  });

  it("waits for the window's rest, within a minute", () => {
    expect(decideAt(20)).toEqual({ kind: 'wait', seconds: 40 });
    expect(decideAt(59.99)).toEqual({ kind: 'wait', seconds: 0.1 });
    expect(decideAt(10, seen(), { quietSeconds: 3_600, maximumWaitSeconds: 7_200 })).toEqual({
      kind: 'wait',
      seconds: 60,
    });
  });

  it('does not wait forever after the clock went back', () => {
    const decision = decideAt(-100, seen({ unchangedSince: AT }));
    expect(decision).toMatchObject({ kind: 'wait' });
    expect(decision.kind === 'wait' && decision.seconds).toBeLessThanOrEqual(60);
  });
});

describe('a look at the incoming prefix', () => {
  const look = async (
    fill: (put: (name: string, text?: string, lastModified?: Date) => void) => void,
    options: {
      readonly previous?: IncomingLook;
      readonly markerSince?: Date;
      readonly newestEventAt?: string;
      readonly at?: number;
    } = {},
  ) => {
    const clock = fakeClock(secondsAfter(options.at ?? 0));
    const store = memoryObjectStore(clock);
    fill((name, text = 'x', lastModified) => store.put(PREFIX + name, text, lastModified));
    return lookAtIncoming(store.list(PREFIX), {
      prefix: PREFIX,
      marker: '_SUCCESS',
      markerSince: options.markerSince,
      now: clock.now(),
      newestEventAt: options.newestEventAt,
      previous: options.previous,
    });
  };

  it('counts objects and bytes, the marker not among them', async () => {
    const observation = await look((put) => {
      put('a', '123');
      put('b', '4567');
      put('_SUCCESS', '');
    });
    expect(observation).toMatchObject({ objects: 2, bytes: 7, marker: true });
  });

  it("keeps the first look's time while nothing changes", async () => {
    const first = await look((put) => put('a'));
    const second = await look((put) => put('a'), { previous: first, at: 45 });
    expect(second).toEqual(first);
  });

  it.each([
    [
      'an object more',
      (put: (name: string, text?: string) => void) => ['a', 'b'].forEach((each) => put(each)),
    ],
    ['an object less', () => undefined],
    ['other content under the same key', (put: (name: string, text?: string) => void) => put('a', 'y')],
    [
      'the marker',
      (put: (name: string, text?: string) => void) => ['a', '_SUCCESS'].forEach((each) => put(each)),
    ],
  ])('begins to count again for %s', async (_, fill) => {
    const first = await look((put) => put('a'));
    const second = await look(fill, { previous: first, at: 45 });
    expect(second.unchangedSince).toBe(secondsAfter(45));
  });

  it('counts small objects from the second of their date', async () => {
    const first = await look((put) => put('a', 'x', new Date(secondsAfter(-90))));
    expect(first.unchangedSince).toBe(secondsAfter(-89));
    const fill = (put: (name: string, text?: string, lastModified?: Date) => void) => {
      put('a', 'x', new Date(secondsAfter(-90)));
      put('b', 'x', new Date(secondsAfter(20)));
    };
    const second = await look(fill, { previous: first, at: 45 });
    expect(second.unchangedSince).toBe(secondsAfter(21));
    expect(await look(fill, { previous: second, at: 60 })).toEqual(second);
  });

  it.each([
    ['from the event of the same second', 20.123, 20.123],
    ['from the end of the second without its event', 19.999, 21],
    ['from the end of the second behind later events', 21, 21],
  ])('counts small objects %s', async (_, event, since) => {
    const fill = (put: (name: string, text?: string, lastModified?: Date) => void) => {
      put('a', 'x', new Date(secondsAfter(19)));
      put('b', 'x', new Date(secondsAfter(20)));
    };
    expect((await look(fill, { newestEventAt: secondsAfter(event), at: 45 })).unchangedSince).toBe(
      secondsAfter(since),
    );
  });

  it('counts objects of many megabytes from its own time', async () => {
    const large = 'z'.repeat(8 * 2 ** 20 + 1);
    const first = await look((put) => put('a', large, new Date(secondsAfter(-90))));
    expect(first.unchangedSince).toBe(AT);
    const second = await look(
      (put) => {
        put('a', large, new Date(secondsAfter(-90)));
        put('b', 'x', new Date(secondsAfter(20)));
      },
      { previous: first, at: 45 },
    );
    expect(second.unchangedSince).toBe(secondsAfter(21));
  });

  it('counts a large upload with an old date', async () => {
    const first = await look((put) => put('a'));
    const second = await look(
      (put) => {
        put('a');
        put('large.bin', 'z', new Date(secondsAfter(-3_600)));
      },
      { previous: first, at: 45 },
    );
    expect(second.unchangedSince).toBe(secondsAfter(45));
  });

  it("does not accept the previous batch's marker", async () => {
    const fill = (put: (name: string, text?: string, lastModified?: Date) => void) =>
      put('_SUCCESS', '', new Date(AT));
    expect((await look(fill, { markerSince: new Date(secondsAfter(10)) })).marker).toBe(false);
    expect((await look(fill, { markerSince: new Date(secondsAfter(-10)) })).marker).toBe(true);
  });

  it('rejects an object that only ends like the marker', async () => {
    expect((await look((put) => put('deep/_SUCCESS'))).marker).toBe(false);
  });

  it('stays small, however much lies there', async () => {
    const many = await look((put) => {
      for (let each = 0; each < 5_000; each += 1) put(`${each}`);
    });
    expect(JSON.stringify(many).length).toBeLessThan(300);
  });
});
