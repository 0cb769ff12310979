/** Every message of the arrivals queue is read as data. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeArrivals } from '../../../../functions/run/ingest/take-arrivals.ts';
import { AT, secondsAfter } from '../../../support/builders/records.ts';
import { created, DECLARATION, ground, message } from '../../../support/world/ground.ts';

const record = (object: object, eventName = 'ObjectCreated:Put') =>
  JSON.stringify({ Records: [{ eventName, eventTime: AT, s3: { object } }] });

/** What becomes of messages where these pipelines are declared. */
async function taken(bodies: readonly string[], declared: readonly string[] = []) {
  const at = ground();
  for (const name of declared) at.store.put(`pipelines/${name}.yaml`, DECLARATION.replace('digits', name));
  const { notes, failed } = await takeArrivals(
    at,
    bodies.map((body, index) => message(body, `${index}`)),
  );
  const runs = await Promise.all(declared.map((name) => at.runs.get(`${name}-000001`)));
  return { notes, failed, runs };
}
const noteOf = async (body: string) => (await taken([body])).notes.join();
const noteOfKey = (key: string) => noteOf(created(key, AT));
const undeclared = (name: string) => `ignored: no pipeline is declared at pipelines/${name}.yaml`;

describe('a message of the arrivals queue', () => {
  it("wakes the key's pipeline with the event's time", async () => {
    const { notes, runs } = await taken([created('digits/incoming/7/0001.png', AT)], ['digits']);
    expect(notes).toEqual(['digits-000001 is started']);
    expect(runs).toMatchObject([{ trigger: 'arrival', newestEventAt: AT }]);
  });

  it.each([
    'digits/incoming/a b+c%2F&=.png',
    'digits/incoming/$(reboot).png',
    'digits/incoming/../../etc/passwd',
    'digits/incoming/\u202e\u0000\n.png',
    `digits/incoming/${'x'.repeat(1_000)}`,
  ])('keeps the rest of the key unchanged: %j', async (key) => {
    expect(await noteOfKey(key)).toBe(undeclared('digits'));
  });

  it.each([
    ['a declaration', 'pipelines/digits.yaml', 'pipeline digits is gone'],
    ['a declaration of a bad name', 'pipelines/Digits!.yaml', 'ignored: '],
    ['a declaration in a folder', 'pipelines/a/b.yaml', 'ignored: '],
    ['another file beside the declarations', 'pipelines/notes.txt', 'ignored: '],
    ['the folder itself', 'digits/incoming/', 'ignored: '],
    ['a key of no pipeline', 'digits/dataset/x', 'ignored: '],
    ['a pipeline inside a folder', 'a/digits/incoming/x', 'ignored: '],
    ['a reserved name', 'agent/incoming/x', 'ignored: '],
    ['a name too long for an execution', `${'a'.repeat(60)}/incoming/x`, 'ignored: '],
    ['a name that ends in a hyphen', 'a-/incoming/x', 'ignored: '],
    ['a test object', 'tidewheel-check/incoming/7f.check', 'test object 7f'],
    ['the folder of test objects', 'tidewheel-check/incoming/', 'ignored: '],
    ['an empty key', '', 'ignored: '],
  ])('knows %s', async (_, key, expected) => {
    const note = await noteOfKey(key);
    expect(note.startsWith(expected)).toBe(true);
    expect(note).not.toContain('no pipeline is declared');
  });

  it('wakes a pipeline by its schedule', async () => {
    const { runs } = await taken(['{"schedule":{"pipeline":"digits"}}'], ['digits']);
    expect(runs).toMatchObject([{ trigger: 'schedule' }]);
    expect(await noteOf('{"schedule":{"pipeline":"../x"}}')).toMatch(/^ignored: neither/);
  });

  it.each(['not json', ''])('is malformed when it is %j', async (body) => {
    expect(await taken([body])).toMatchObject({
      notes: [],
      failed: [{ messageId: '0', reason: 'the message is no JSON' }],
    });
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
  ])('is ignored when it is %j', async (body) => {
    expect(await noteOf(body)).toMatch(/^ignored: (?!no pipeline)/);
  });

  it('may hold several records, or none', async () => {
    const [one, other] = ['digits', 'letters'].map((name) => created(`${name}/incoming/x`, AT));
    const both = [one, other].flatMap((body) => (JSON.parse(body ?? '') as { Records: unknown[] }).Records);
    expect((await taken([JSON.stringify({ Records: both })])).notes).toEqual([
      undeclared('digits'),
      undeclared('letters'),
    ]);
    expect(await taken(['{"Records":[]}'])).toMatchObject({ notes: [], failed: [] });
  });

  it('may come from EventBridge, which encodes no key', async () => {
    const event = (key: string, type = 'Object Created') =>
      JSON.stringify({ 'detail-type': type, time: AT, detail: { object: { key } } });
    expect(await noteOf(event('pipelines/digits.yaml', 'Object Deleted'))).toBe('pipeline digits is gone');
    expect(await noteOf(event('digits/incoming/1', 'Object Deleted'))).toBe(
      'ignored: ObjectRemoved:* is no arrival',
    );
    expect(await noteOf(event('digits/incoming/a%+b'))).toBe(undeclared('digits'));
    expect(await noteOf(event('x+y/incoming/1'))).toBe(
      'ignored: x+y/incoming/1 lies under no incoming prefix',
    );
  });

  it('carries a key as a form encodes it', async () => {
    expect(await noteOf(record({ key: 'pipelines/a%2Bb.yaml' }))).toContain('"a+b"');
    expect(await noteOf(record({ key: 'x+y/incoming/1' }))).toBe(
      'ignored: x y/incoming/1 lies under no incoming prefix',
    );
  });

  it('throws for no body at all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (body) => {
        const { notes, failed } = await taken([body]);
        expect(notes.length + failed.length).toBe(1);
      }),
    );
  });
});

describe('many messages of one pipeline', () => {
  const arrived = (name: string, seconds: number): string =>
    created(`${name}/incoming/x`, secondsAfter(seconds));

  it('are stood for by the newest', async () => {
    const bodies = [arrived('a', 5), arrived('b', 1), arrived('a', 9), arrived('a', 7), arrived('b', 0)];
    const { notes, runs } = await taken(bodies, ['a', 'b']);
    expect(notes).toEqual(['b-000001 is started', 'a-000001 is started']);
    expect(runs.map((run) => run?.newestEventAt)).toEqual([secondsAfter(9), secondsAfter(1)]);
  });

  it('represent neither a schedule nor a declaration', async () => {
    const bodies = ['{"schedule":{"pipeline":"a"}}', arrived('a', 1), created('pipelines/a.yaml', AT)];
    expect((await taken(bodies, ['a'])).notes).toEqual([
      'a-000001 is started',
      'a-000001 is running',
      'pipeline a is valid',
    ]);
  });

  it('have one representative for each pipeline and trigger', async () => {
    const arrival = fc.record({
      pipeline: fc.constantFrom('a', 'b', 'c'),
      at: fc.integer({ min: 0, max: 50 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(arrival), async (all) => {
        const names = [...new Set(all.map(({ pipeline }) => pipeline))];
        const { notes, runs } = await taken(
          all.map(({ pipeline, at }) => arrived(pipeline, at)),
          names,
        );
        expect(notes).toHaveLength(names.length);
        for (const [index, name] of names.entries()) {
          const times = all.filter(({ pipeline }) => pipeline === name).map(({ at }) => at);
          expect(runs[index]?.newestEventAt).toBe(secondsAfter(Math.max(...times)));
        }
      }),
    );
  });
});
