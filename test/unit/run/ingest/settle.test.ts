/** When a batch is complete, read from listings alone. */
import { describe, expect, it } from 'vitest';
import { type IncomingLook, lookAtIncoming, settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { AT, runOf, secondsAfter } from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../../support/fakes/object-store.ts';
import { DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
const PREFIX = 'digits/incoming/';

interface Wait {
  readonly changedAt?: number;
  readonly marker?: boolean;
  readonly settle?: string;
}

/** A look at a batch that was opened at 0, so many seconds later: the reason of its close, or the pause in seconds. */
async function lookAt(
  seconds: number,
  { changedAt = 0, marker = false, settle }: Wait = {},
): Promise<string | number> {
  const at = await openBatch(settle);
  at.clock.set(new Date(secondsAfter(changedAt)));
  at.drop('a');
  const first = await settleRun(at, { runId: RUN });
  const observation = first.kind === 'wait' ? (first.observation ?? undefined) : undefined;
  at.clock.set(new Date(secondsAfter(seconds)));
  if (marker) at.drop('_SUCCESS');
  const then = await settleRun(at, { runId: RUN, observation });
  if (then.kind === 'wait') return (Date.parse(then.until) - at.clock.now().getTime()) / 1_000;
  return (await reasonOfClose(at)) ?? then.kind;
}

async function openBatch(settle: string | undefined): Promise<Ground> {
  const at = ground();
  at.declare(
    settle === undefined ? DECLARATION : DECLARATION.replaceAll(/^(settle|tuning):.*$/gm, '') + settle,
  );
  await at.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await at.runs.create(runOf('digits', 1));
  return at;
}

async function reasonOfClose({ timeline }: Ground): Promise<string | undefined> {
  const [closed] = await timeline.list(RUN);
  return /\((\w+)\)/.exec(closed?.text ?? '')?.[1];
}

describe('a batch', () => {
  it('is settled exactly when the settle window has passed', async () => {
    expect(await lookAt(58.5)).toBe(1.5);
    expect(await lookAt(60)).toBe('quiet');
  });

  it('is settled at once by its marker', async () => {
    expect(await lookAt(1, { marker: true })).toBe('marker');
  });

  it('is settled after the maximum wait despite new objects', async () => {
    expect(await lookAt(590, { changedAt: 589 })).toBe(10);
    expect(await lookAt(600, { changedAt: 599 })).toBe('maximumWait');
  });

  it("waits for the window's rest, within a minute", async () => {
    expect(await lookAt(20)).toBe(40);
    expect(await lookAt(59.99)).toBe(0.1);
    const settle = 'settle: { quietSeconds: 3600 }\ntuning: { settle: { maximumWaitSeconds: 7200 } }\n';
    expect(await lookAt(10, { settle })).toBe(60);
  });

  it('does not wait forever after the clock went back', async () => {
    expect(await lookAt(-100)).toBe(60);
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
