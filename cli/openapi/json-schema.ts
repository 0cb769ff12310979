/** JSON Schema to TypeScript types, as far as the API's document uses it. */
import * as z from 'zod';

const schema = z.object({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  get anyOf() {
    return z.array(schema).optional();
  },
  get oneOf() {
    return z.array(schema).optional();
  },
  /** false behind the items of a tuple. */
  get items() {
    return z.union([z.literal(false), schema]).optional();
  },
  get prefixItems() {
    return z.array(schema).optional();
  },
  get properties() {
    return z.record(z.string(), schema).optional();
  },
  get additionalProperties() {
    return z.union([z.boolean(), schema]).optional();
  },
  required: z.array(z.string()).optional(),
});

export { schema as jsonSchema };
export type JsonSchema = z.infer<typeof schema>;

/** Keywords that no type of TypeScript tells. */
const UNTYPED = [
  'description',
  'default',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'propertyNames',
  'patternProperties',
];

/** @throws Error for a keyword that would be lost without a word */
export function refuseUnknown(value: unknown): void {
  if (Array.isArray(value)) return value.forEach(refuseUnknown);
  if (typeof value !== 'object' || value === null) return;
  for (const [keyword, content] of Object.entries(value)) {
    if (keyword === 'properties') Object.values(content).forEach(refuseUnknown);
    else if (keyword in schema.shape) refuseUnknown(keyword === 'const' || keyword === 'enum' ? [] : content);
    else if (!UNTYPED.includes(keyword)) throw new Error(`no type is known for the keyword ${keyword}`);
  }
}

export function typeOf(given: JsonSchema): string {
  if (given.$ref !== undefined) return nameOf(given.$ref);
  if (given.const !== undefined) return JSON.stringify(given.const);
  if (given.enum !== undefined) return union(given.enum.map((value) => JSON.stringify(value)));
  const either = given.anyOf ?? given.oneOf;
  if (either !== undefined) return union(either.map(typeOf));
  const kinds = typeof given.type === 'string' ? [given.type] : (given.type ?? []);
  return kinds.length === 0 ? 'unknown' : union(kinds.map((kind) => typeOfKind(kind, given)));
}

export const nameOf = (reference: string): string => reference.split('/').at(-1) ?? '';

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');

function typeOfKind(kind: string, given: JsonSchema): string {
  switch (kind) {
    case 'integer':
      return 'number';
    case 'array':
      if (given.prefixItems !== undefined) return `readonly [${given.prefixItems.map(typeOf).join(', ')}]`;
      return `readonly (${typeOf(given.items || {})})[]`;
    case 'object':
      return objectOf(given);
    default:
      return kind;
  }
}

function objectOf({ properties, required = [], additionalProperties }: JsonSchema): string {
  const fields = Object.entries(properties ?? {}).map(
    ([name, each]) =>
      `${commentOf(each.description)}readonly ${keyOf(name)}${required.includes(name) ? '' : '?'}: ${typeOf(each)}${required.includes(name) ? '' : ' | undefined'};`,
  );
  if (fields.length > 0) return `{\n${fields.join('\n')}\n}`;
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  return `Readonly<Record<string, ${others}>>`;
}

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

export const commentOf = (text: string | undefined): string =>
  text === undefined ? '' : `/** ${text.replaceAll('*/', '*\\/')} */\n`;
