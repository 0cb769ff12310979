/** Calls of the HTTP API as its OpenAPI document describes them, and as it does not. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc, { type Arbitrary } from 'fast-check';

export interface ApiCall {
  /** Such as `GET /runs/{runId}`. */
  readonly route: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const FILE = path.join(import.meta.dirname, '../../docs/openapi.json');

/** What a schema does not say, and JSON can. */
const STRANGE: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    -1,
    0,
    1e-300,
    1e200,
    Number.MAX_SAFE_INTEGER,
    '\0',
    '../..',
    '__proto__',
  ),
  fc.constantFrom(
    'x'.repeat(5_000),
    'é'.repeat(3_000),
    '99999999999999999999',
    '\ud800',
    '9999-12-31T23:59:59Z',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
);

const DEEPEST = 5;

/** @param known values that exist, by the name of a parameter or field */
export function apiCalls(known: Readonly<Record<string, readonly string[]>>): Arbitrary<ApiCall> {
  const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document;
  const valueOf = (schema: Schema, name: string, depth = 0): Arbitrary<unknown> =>
    fc.oneof({ weight: 8, arbitrary: described(schema, name, depth) }, { weight: 1, arbitrary: STRANGE });
  // oxlint-disable-next-line complexity -- a case for each kind of schema
  const described = (schema: Schema, name: string, depth: number): Arbitrary<unknown> => {
    const ofName = known[name];
    if (ofName !== undefined) return fc.constantFrom(...ofName);
    if (schema.$ref !== undefined) {
      const target = document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
      return target === undefined ? STRANGE : described(target, name, depth);
    }
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    if ('const' in schema) return fc.constant(schema.const);
    const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (choices !== undefined && depth < DEEPEST)
      return fc.oneof(...choices.map((each) => described(each, name, depth + 1)));
    const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
    switch (type ?? '') {
      case 'integer':
        return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1_000_000 });
      case 'number':
        return fc.oneof(fc.double({ noNaN: true }), fc.double({ min: 0, max: 1_000, noNaN: true }));
      case 'boolean':
        return fc.boolean();
      case 'array':
        return depth < DEEPEST
          ? fc.array(valueOf(schema.items ?? {}, name, depth + 1), { maxLength: 3 })
          : fc.constant([]);
      case 'object':
        return depth < DEEPEST ? objectOf(schema, depth) : fc.constant({});
      default:
        return fc.oneof(fc.string({ maxLength: 20 }), fc.stringMatching(/^[a-z0-9-]{1,20}$/), STRANGE);
    }
  };
  const objectOf = ({ properties = {}, additionalProperties }: Schema, depth: number): Arbitrary<unknown> => {
    const own = Object.entries(properties).map(([name, of]) => [name, valueOf(of, name, depth + 1)] as const);
    const open = typeof additionalProperties === 'object' ? additionalProperties : {};
    return fc
      .tuple(
        fc.record(Object.fromEntries(own), { requiredKeys: [] }),
        fc.dictionary(fc.string({ maxLength: 8 }), valueOf(open, '', depth + 1), { maxKeys: 1 }),
      )
      .map(([described, more]) => ({ ...described, ...more }));
  };
  const callOf = (route: string, { parameters = [], requestBody }: Operation): Arbitrary<ApiCall> => {
    const placed = (place: string) =>
      Object.fromEntries(
        parameters
          .filter((each) => each.in === place)
          .map(({ name, schema }) => [name, valueOf(schema, name).map(textOf)] as const),
      );
    const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
    return fc.record({
      route: fc.constant(route),
      parameters: fc.record(placed('path')),
      query: fc.record(placed('query'), { requiredKeys: [] }),
      body:
        schema === undefined
          ? fc.constant('')
          : fc.oneof(
              { weight: 9, arbitrary: valueOf(schema, '').map((value) => JSON.stringify(value) ?? '') },
              { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 100 }) },
            ),
    }) as Arbitrary<ApiCall>;
  };
  const calls = Object.entries(document.paths).flatMap(([place, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      callOf(`${method.toUpperCase()} ${place}`, operation),
    ),
  );
  return fc.oneof(...calls);
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
