/** What agent and service write for each other, written in one language and read in the other. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { DOCUMENTS, inputSchema } from '../../cli/generate/contract.ts';
import { projectPython } from '../support/emulator.ts';

const SAMPLES = 60;
/** Any Python reads all cases: it starts once. */
const PROGRAM = `
import json, sys
from tidewheel_contract import documents
from tidewheel_contract.reading import NewerVersionError, line_of, parse
def answer(name, text):
    try:
        return line_of(parse(getattr(documents, name), text))
    except NewerVersionError as error:
        return error.version
    except ValueError:
        return None
json.dump([answer(*case) for case in json.load(sys.stdin)], sys.stdout)`;

type Schema = z.core.JSONSchema.JSONSchema;

const scalar = fc.oneof(
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
/** zod leaves it out of records. */
const isKey = (key: string) => key !== '__proto__';

function arbitraryOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, anyOf = Array.isArray(type) ? type.map((each) => ({ ...schema, type: each })) : undefined } =
    schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (anyOf !== undefined) return fc.oneof(...anyOf.map((each) => arbitraryOf(each as Schema)));
  return (OF_TYPE[String(type)] ?? (() => scalar))(schema);
}

const OF_TYPE: Readonly<Record<string, (schema: Schema) => fc.Arbitrary<unknown>>> = {
  object: objectOf,
  array: ({ items, minItems = 0 }) =>
    fc.array(arbitraryOf(items as Schema), { minLength: minItems, maxLength: 3 }),
  string: stringOf,
  integer: ({ minimum = 0 }) => fc.maxSafeInteger().map((value) => Math.max(minimum, Math.abs(value))),
  number: (schema) =>
    schema.format === 'int64'
      ? fc.bigInt(0n, 2n ** 62n).map(Number)
      : numberOf(schema as z.core.JSONSchema.NumberSchema),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
};

function objectOf({ properties, required = [], propertyNames = {}, additionalProperties }: Schema) {
  if (properties === undefined) {
    const keys = stringOf(propertyNames as Schema).filter(isKey);
    return fc.dictionary(keys, arbitraryOf(additionalProperties as Schema), { maxKeys: 4 });
  }
  const fields = Object.entries(properties).map(([name, of]) => [name, arbitraryOf(of as Schema)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: required });
}

const numberOf = ({ minimum, maximum, exclusiveMinimum }: z.core.JSONSchema.NumberSchema) =>
  fc.double({
    min: minimum ?? Number(exclusiveMinimum ?? -Number.MAX_VALUE),
    max: maximum ?? Number.MAX_VALUE,
    minExcluded: exclusiveMinimum !== undefined,
    noNaN: true,
  });

function stringOf({ format, pattern, minLength = 0 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
      .map((at) => at.toISOString());
  return pattern === undefined
    ? fc.string({ unit: 'binary', minLength })
    : fc.stringMatching(new RegExp(pattern));
}

const all = Object.entries(DOCUMENTS);
const samples = all.flatMap(([name, document]) =>
  fc
    .sample(
      arbitraryOf(inputSchema(document)).filter((value) => document.schema.safeParse(value).success),
      SAMPLES,
    )
    .map((value) => ({ name, document, value: value as object })),
);
/** Of the whole and of what agents of release 0.1.0 wrote. */
const cases = (version: (known: number) => object) =>
  samples.map(
    ({ name, document, value }) =>
      [name, JSON.stringify({ ...value, ...version(document.version) })] as const,
  );
const written = {
  now: cases((version) => ({ version })),
  before: cases(() => ({})),
  withMore: cases((version) => ({ version, fieldOfALaterRelease: [1] })),
  later: cases((version) => ({ version: version + 1 })),
};

/** As the agent of release 0.1.0 wrote them. */
const FIRST = {
  ProgressNote:
    '{"checkpoint":"checkpoint-40","files":{"checkpoint-40/a.pt":{"bytes":3,"etag":"336311a016184326ddbdd61edd4eeb52"}},"format":"Hugging Face Trainer","kept":[{"checkpoint":"a.pt","files":{"tidewheel-kept/0a-a":{"bytes":3,"sha256":"0a"}},"format":".pt file","metrics":{},"proof":"whole","step":30,"totalSteps":0,"trainingSeconds":1.5,"unit":"step","updatedAt":"2026-11-21T00:00:00.000Z"}],"metrics":{"loss":0.5},"pace":{"stepsPerSecond":2.0},"proof":"whole","saveSeconds":0.25,"step":40,"totalSteps":0,"trainingSeconds":2.5,"unit":"step","updatedAt":"2026-11-21T00:00:00.000Z","usage":{"cpuPercent":42.5}}',
  KeptManifest:
    '{"files":{"a.pt":{"bytes":3,"checkpoint":"a.pt","has_position":false,"is_weak":false,"modified_ns":1790000000000000001,"part":"0a-a","sha256":"0a"}},"note":{"step":30},"sequence":4}',
  CompletionMarker:
    '{"files":{"state.pt":{"bytes":7,"sha256":"0a"}},"metrics":{"loss":0.5},"step":40,"totalSteps":null,"trainingSeconds":1.0}',
  ResumeNote:
    '{"attempt":2,"checkpoint":{"format":"","name":"step-00000040","step":40,"unit":"step"},"repairs":[{"instead":"b, step 30","name":"a","problem":"cut","step":null}],"startedAt":1.5,"verdict":{"beganAt":0.0,"evidence":"log","kind":"beganAgain","position":1,"unit":"step"}}',
  AutomaticNote:
    '{"offer":{"attempt":1,"seconds":600},"stopped":{"attempt":1,"forGood":true,"reason":"twice","step":3}}',
  HangNote: '{"hangsSince":null}',
  SeriesStart: '{"startedAt":1.5,"resumedFrom":null}',
  SeriesPoint: '{"source":"log","unit":"step","position":1.0,"at":2.5,"values":{"loss":null}}',
  HostStart:
    '{"startedAt":"2026-11-21T00:00:00.000Z","phases":{"download":null,"install":0.5,"scriptStart":null,"firstBatch":null,"firstStep":null},"hooks":{"kind":"removed","hook":"torch.save","reason":"x"},"lines":{"save":"train.py:4 main"}}',
  EvidencePoint:
    '{"at":"2026-11-21T00:00:00.000Z","seconds":10.0,"host":0,"rank":0,"processes":1,"steps":20,"samples":null,"stepSeconds":{"median":0.5,"p95":0.5},"shares":{"wait":0.0,"compute":1.0,"save":0.0,"exchange":0.0},"hostWork":null,"arithmetic":null,"rankSkewSeconds":null,"loader":{"workers":0,"workerBusy":null,"decodeShare":null,"batchSize":null,"pinBusy":null,"restarts":{"share":0.0,"count":0.0}},"cpu":{"cores":2,"main":1.0,"workers":0.0,"all":1.0,"runQueue":1.0,"threads":null,"waitForCore":null},"memory":{"usedBytes":1,"totalBytes":4,"majorFaultsPerSecond":0.0,"pageCacheBytes":1},"disk":{"readBytesPerSecond":0,"writtenBytesPerSecond":0},"network":{"receivedBytesPerSecond":0,"sentBytesPerSecond":0},"gpu":null}',
  StepBlocks:
    '{"basis":"printed","steps":9,"samplesPerStep":null,"blockSeconds":[1.0],"blockSteps":[8],"clock":"machine"}',
} satisfies Record<keyof typeof DOCUMENTS, string>;
const first = Object.entries(FIRST);

let answers: readonly unknown[];
beforeAll(() => {
  const input = JSON.stringify([...Object.values(written).flat(), ...first]);
  const folder = path.join(import.meta.dirname, '../../training/agent/for_scripts');
  const options = {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, PYTHONPATH: folder },
  } as const;
  answers = JSON.parse(execFileSync(projectPython(), ['-c', PROGRAM], options)) as unknown[];
});

const groups = Object.entries(written);
/** Each text with what Python made of it. */
function answered(group: keyof typeof written) {
  const start = groups
    .slice(
      0,
      groups.findIndex(([name]) => name === group),
    )
    .flatMap(([, texts]) => texts).length;
  return written[group].map(([name, text], index) => ({ name, text, answer: answers[start + index] }));
}
const documentOf = (name: string) => {
  const document = DOCUMENTS[name];
  if (document === undefined) throw new Error(`no document ${name}`);
  return document;
};
const read = (name: string, text: unknown) => valueOf(readDocument(documentOf(name), String(text)));

/** Documents that release 0.1.0 did not write. */
const NEWER = ['FinishedNote'];

describe('a document of agent and service', () => {
  it.each(['now', 'before', 'withMore'] as const)('means the same in both languages: %s', (group) => {
    const found = answered(group);
    expect(found.length).toBe(all.length * SAMPLES);
    for (const { name, text, answer } of found) {
      const meant = read(name, text);
      expect({ name, text, answer, meant: meant !== undefined }).toMatchObject({ meant: true });
      expect({ text, read: read(name, answer) }).toEqual({ text, read: meant });
      expect(JSON.parse(String(answer))).toMatchObject({ version: documentOf(name).version });
    }
  });

  it('of a later release is called newer', () => {
    for (const { name, text, answer } of answered('later')) {
      const { version } = documentOf(name);
      expect(readDocument(documentOf(name), text)).toEqual({ kind: 'newer', version: version + 1 });
      expect({ name, answer }).toEqual({ name, answer: version + 1 });
    }
  });

  it('of release 0.1.0 is read in both languages', () => {
    const since = Object.keys(DOCUMENTS).filter((name) => !NEWER.includes(name));
    expect(first.map(([name]) => name).toSorted()).toEqual(since);
    for (const [index, [name, text]] of first.entries()) {
      const answer = answers[answers.length - first.length + index];
      expect(read(name, text)).toBeDefined();
      expect({ name, read: read(name, answer) }).toEqual({ name, read: read(name, text) });
    }
  });
});
