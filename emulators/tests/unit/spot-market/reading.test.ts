import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configurationLimit } from '../../../spot-market/ec2/configuration-limit.ts';
import { applyFilters } from '../../../spot-market/ec2/filters.ts';
import { pageAt, positionAfter } from '../../../spot-market/ec2/paging.ts';
import { readQuery } from '../../../spot-market/ec2/query.ts';
import { responseXml } from '../../../spot-market/ec2/xml.ts';
import { marketScriptOf } from '../../../spot-market/script-option.ts';

const query = (text: string) => readQuery(new URLSearchParams(text));

describe('the query protocol', () => {
  it('reads lists in the order of their numbers', () => {
    expect(
      query('InstanceType.10=c&InstanceType.2=b&InstanceType.1=a&InstanceTypes.1=x').list('InstanceType'),
    ).toEqual(['a', 'b', 'c']);
  });

  it('reads filters with all their values', () => {
    expect(query('Filter.1.Name=a&Filter.1.Value.1=x&Filter.1.Value.2=y&Filter.2.Name=b').filters()).toEqual([
      { name: 'a', values: ['x', 'y'] },
      { name: 'b', values: [] },
    ]);
  });

  it.each([
    ['N=ten', /N is invalid: it must be a whole number/],
    ['N=5', /between 10 and 20/],
    ['N=', /whole number/],
  ])('refuses %s with the remedy', (text, message) => {
    expect(() => query(text).integer('N', { minimum: 10, maximum: 20 })).toThrow(message);
  });

  it('refuses a time and a truth that are none', () => {
    expect(() => query('T=soon').time('T')).toThrow(/it must be a time/);
    expect(() => query('B=yes').isTrue('B')).toThrow(/true or false/);
  });
});

describe('filters', () => {
  const fields = { name: (item: string) => item };
  const filter = (value: string, items: string[]) =>
    applyFilters(items, [{ name: 'name', values: [value] }], fields);

  it('know wildcards, and take them literally after a backslash', () => {
    expect(filter('g5*', ['g5.xlarge', 'g6.xlarge'])).toEqual(['g5.xlarge']);
    expect(filter('g?.xlarge', ['g5.xlarge', 'g4dn.xlarge'])).toEqual(['g5.xlarge']);
    expect(filter('a\\*', ['a*', 'ab'])).toEqual(['a*']);
  });

  it('find any text by itself alone', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, other) => {
        const escaped = text.replace(/[*?\\]/g, '\\$&');
        expect(filter(escaped, [text])).toEqual([text]);
        expect(filter(escaped, [other])).toEqual(text === other ? [text] : []);
      }),
    );
  });

  it('refuse a name that is not known', () => {
    expect(() => applyFilters(['a'], [{ name: 'toString', values: ['a'] }], fields)).toThrow(
      /'toString' is invalid/,
    );
  });
});

describe('paging', () => {
  it('brings every item once', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 20 }), (items, size) => {
        const seen: number[] = [];
        let token: string | undefined;
        do {
          const page = pageAt(items, positionAfter(token, 7), size);
          seen.push(...page.items);
          token = page.nextToken;
        } while (token !== undefined);
        expect(seen).toEqual(items);
      }),
    );
  });

  it('keeps the first moment, and refuses foreign tokens', () => {
    const { nextToken } = pageAt([1, 2], positionAfter(undefined, 1_234), 1);
    expect(positionAfter(nextToken, 9_999)).toEqual({ offset: 1, requestedMs: 1_234 });
    expect(() => positionAfter('!!', 0)).toThrow(/NextToken/);
  });
});

it('only new configurations are limited per day', () => {
  const limit = configurationLimit(2);
  limit.count('a', 0);
  limit.count('b', 10);
  limit.count('a', 20);
  expect(() => limit.count('c', 30)).toThrow(/maximum allowed Spot placement configurations/);
  limit.count('c', 86_400);
  expect(() => limit.count('a', 86_401)).toThrow(/24 hours/);
});

it('XML escapes what would end an element', () => {
  const xml = responseXml('X', 'id', { a: '</a>&"\u0000', list: [{ b: 1 }, 'text'], none: undefined });
  expect(xml).toContain(
    '<a>&lt;/a&gt;&amp;&quot;</a><list><item><b>1</b></item><item>text</item></list></XResponse>',
  );
});

const trace = (value: number) => JSON.stringify({ metadata: { gap_seconds: 60 }, data: [value] });

describe('the script option', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'tidewheel-traces-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string) => writeFileSync(path.join(folder, name), content);

  it.each([
    ['calm', { kind: 'calm' }],
    ['demo', { kind: 'demo' }],
    ['demo:7', { kind: 'demo', seed: 7 }],
    ['seed:42', { kind: 'seed', seed: 42 }],
  ])('reads %s', (text, script) => {
    expect(marketScriptOf(text)).toEqual(script);
  });

  it.each(['', 'seed', 'seed:x', 'calm:1', 'storm', 'trace', 'trace:'])(
    'refuses %j and says what to write',
    (text) => {
      expect(() => marketScriptOf(text)).toThrow(/write demo .*seed:NUMBER/);
    },
  );

  it('reads a folder of traces', () => {
    write('use1-az2.json', trace(2));
    write('us-east-1d_v100_1.json', trace(4));
    write('us-west-2a_v100_1.json', trace(9));
    const script = marketScriptOf(`trace:${folder}`);
    const zones = script.kind === 'trace' ? script.zones : {};
    const values = Object.fromEntries(Object.entries(zones).map(([zoneId, { data }]) => [zoneId, data[0]]));
    expect(values).toEqual({ 'use1-az1': 9, 'use1-az2': 2, 'use1-az4': 4 });
  });

  it.each(['no-such-folder', 'use1-az2.json'])('refuses %s, which is no folder, by its name', (name) => {
    const missing = path.join(folder, name);
    expect(() => marketScriptOf(`trace:${missing}`)).toThrow(
      `there is no folder ${missing}: name one with a .json file for each zone`,
    );
  });

  it('says what is wrong in a trace', () => {
    write('use1-az6.json', '{"metadata":{"gap_seconds":0},"data":["x"]}');
    expect(() => marketScriptOf(`trace:${folder}`)).toThrow(
      /use1-az6\.json is no Spot trace[\s\S]*gap_seconds/,
    );
  });
});
