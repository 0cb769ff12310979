/** Every message of the arrivals queue is read as data. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ArrivalEvent,
  newestWakes,
  readArrivals,
} from '../../../../functions/run/ingest/take-arrivals.ts';
import { AT, secondsAfter } from '../../../support/builders/records.ts';
import { created } from '../../../support/world/ground.ts';

const readArrival = (body: string) => readArrivals(body)[0];
const record = (object: object, eventName = 'ObjectCreated:Put') =>
  JSON.stringify({ Records: [{ eventName, eventTime: AT, s3: { object } }] });
const keyed = (key: string) => readArrival(created(key, AT));

describe('a message of the arrivals queue', () => {
  it("wakes the key's pipeline with the event's time", () => {
    expect(keyed('digits/incoming/7/0001.png')).toEqual({
      kind: 'wake',
      wake: { pipeline: 'digits', trigger: 'arrival', eventTime: new Date(AT) },
      key: 'digits/incoming/7/0001.png',
    });
  });

  it.each([
    'digits/incoming/a b+c%2F&=.png',
    'digits/incoming/$(reboot).png',
    'digits/incoming/../../etc/passwd',
    'digits/incoming/\u202e\u0000\n.png',
    `digits/incoming/${'x'.repeat(1_000)}`,
  ])('keeps the rest of the key unchanged: %j', (key) => {
    expect(keyed(key)).toMatchObject({ kind: 'wake', wake: { pipeline: 'digits' } });
  });

  it.each([
    ['a declaration', 'pipelines/digits.yaml', { kind: 'declaration', pipeline: 'digits' }],
    ['a declaration of a bad name', 'pipelines/Digits!.yaml', { kind: 'ignored' }],
    ['a declaration in a folder', 'pipelines/a/b.yaml', { kind: 'ignored' }],
    ['another file beside the declarations', 'pipelines/notes.txt', { kind: 'ignored' }],
    ['the folder itself', 'digits/incoming/', { kind: 'ignored' }],
    ['a key of no pipeline', 'digits/dataset/x', { kind: 'ignored' }],
    ['a pipeline inside a folder', 'a/digits/incoming/x', { kind: 'ignored' }],
    ['a reserved name', 'agent/incoming/x', { kind: 'ignored' }],
    ['a name too long for an execution', `${'a'.repeat(60)}/incoming/x`, { kind: 'ignored' }],
    ['a name that ends in a hyphen', 'a-/incoming/x', { kind: 'ignored' }],
    ['a test object', 'tidewheel-check/incoming/7f.check', { kind: 'testObject', id: '7f' }],
    ['the folder of test objects', 'tidewheel-check/incoming/', { kind: 'ignored' }],
    ['an empty key', '', { kind: 'ignored' }],
  ])('knows %s', (_, key, expected) => {
    expect(keyed(key)).toMatchObject(expected);
  });

  it('wakes a pipeline by its schedule', () => {
    expect(readArrival('{"schedule":{"pipeline":"digits"}}')).toEqual({
      kind: 'wake',
      wake: { pipeline: 'digits', trigger: 'schedule' },
    });
    expect(readArrival('{"schedule":{"pipeline":"../x"}}')?.kind).toBe('ignored');
  });

  it.each(['not json', ''])('is malformed when it is %j', (body) => {
    expect(readArrival(body)).toEqual({ kind: 'malformed' });
  });

  it.each([
    'null',
    '[]',
    '{}',
    '{"Event":"s3:TestEvent"}',
    created('digits/incoming/x', 'yesterday'),
    '{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-20T00:00:00Z","Bucket":"b"}',
    record({ key: 'digits/incoming/x' }, 'ObjectRemoved:Delete'),
    record({ key: 'digits/incoming/%E0%A4%A' }),
    record({ key: 7 }),
  ])('is ignored when it is %j', (body) => {
    expect(readArrival(body)?.kind).toBe('ignored');
  });

  it('may hold several records, or none', () => {
    const [one, other] = ['digits', 'letters'].map((name) => created(`${name}/incoming/x`, AT));
    const both = [one, other].flatMap((body) => (JSON.parse(body ?? '') as { Records: unknown[] }).Records);
    expect(readArrivals(JSON.stringify({ Records: both }))).toMatchObject([
      { wake: { pipeline: 'digits' } },
      { wake: { pipeline: 'letters' } },
    ]);
    expect(readArrivals('{"Records":[]}')).toEqual([]);
  });

  it('may come from EventBridge, which encodes no key', () => {
    const event = (key: string, type = 'Object Created') =>
      JSON.stringify({ 'detail-type': type, time: AT, detail: { object: { key } } });
    expect(readArrivals(event('pipelines/digits.yaml', 'Object Deleted'))).toEqual([
      { kind: 'declaration', pipeline: 'digits' },
    ]);
    expect(readArrivals(event('digits/incoming/1', 'Object Deleted'))).toMatchObject([
      { reason: 'ObjectRemoved:* is no arrival' },
    ]);
    expect(readArrivals(event('digits/incoming/a%+b'))).toEqual([
      {
        kind: 'wake',
        wake: { pipeline: 'digits', trigger: 'arrival', eventTime: new Date(AT) },
        key: 'digits/incoming/a%+b',
      },
    ]);
    expect(readArrivals(event('x+y/incoming/1'))).toMatchObject([
      { reason: 'x+y/incoming/1 lies under no incoming prefix' },
    ]);
  });

  it('carries a key as a form encodes it', () => {
    expect(readArrivals(record({ key: 'pipelines/a%2Bb.yaml' }))).toMatchObject([
      { kind: 'ignored', reason: expect.stringContaining('"a+b"') as string },
    ]);
    expect(readArrivals(record({ key: 'x+y/incoming/1' }))).toMatchObject([
      { reason: 'x y/incoming/1 lies under no incoming prefix' },
    ]);
  });

  it('throws for no body at all', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
        expect(['wake', 'declaration', 'testObject', 'ignored', 'malformed']).toContain(
          readArrival(body)?.kind,
        );
      }),
    );
  });
});

describe('many messages of one pipeline', () => {
  const wake = (pipeline: string, seconds: number): ArrivalEvent => ({
    kind: 'wake',
    wake: { pipeline, trigger: 'arrival', eventTime: new Date(secondsAfter(seconds)) },
  });

  it('are stood for by the newest', () => {
    const arrivals = [wake('a', 5), wake('b', 1), wake('a', 9), wake('a', 7), wake('b', 0)];
    expect([...newestWakes(arrivals)].sort((a, b) => a - b)).toEqual([1, 2]);
  });

  it('represent neither a schedule nor a declaration', () => {
    const scheduled: ArrivalEvent = { kind: 'wake', wake: { pipeline: 'a', trigger: 'schedule' } };
    const declared: ArrivalEvent = { kind: 'declaration', pipeline: 'a' };
    expect([...newestWakes([scheduled, wake('a', 1), declared])].sort((a, b) => a - b)).toEqual([0, 1]);
  });

  it('have one representative for each pipeline and trigger', () => {
    const arrival = fc.record({
      pipeline: fc.constantFrom('a', 'b', 'c'),
      at: fc.integer({ min: 0, max: 50 }),
    });
    fc.assert(
      fc.property(fc.array(arrival), (all) => {
        const standing = [...newestWakes(all.map(({ pipeline, at }) => wake(pipeline, at)))];
        expect(standing.length).toBe(new Set(all.map(({ pipeline }) => pipeline)).size);
        for (const index of standing) {
          const chosen = all[index];
          const times = all.filter(({ pipeline }) => pipeline === chosen?.pipeline).map(({ at }) => at);
          expect(chosen?.at).toBe(Math.max(...times));
        }
      }),
    );
  });
});
