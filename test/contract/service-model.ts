/**
 * AWS's own description of its APIs, as botocore carries it, and a check of a request against it: required and unknown
 * fields, types, lengths and ranges, patterns, enums, unions. (The SDKs check types at most.) It does not know the rules
 * between fields: those are tested beside it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

interface Member {
  readonly shape: string;
}

interface Shape {
  readonly type: string;
  readonly members?: Readonly<Record<string, Member>>;
  readonly required?: readonly string[];
  readonly member?: Member;
  readonly key?: Member;
  readonly value?: Member;
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly union?: boolean;
}

export interface ServiceModel {
  readonly operations: Readonly<Record<string, { readonly input?: Member }>>;
  readonly shapes: Readonly<Record<string, Shape>>;
}

export interface Violation {
  /** Such as ResourceConfig.InstanceGroups[0].InstanceType */
  readonly path: string;
  readonly rule: 'required' | 'unknown' | 'type' | 'min' | 'max' | 'pattern' | 'enum' | 'union';
  readonly message: string;
}

const PYTHON = join(
  process.cwd(),
  '.venv',
  ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']),
);

/** @param service folder of botocore/data such as sagemaker/2017-07-24 */
export function loadModel(service: string): ServiceModel {
  const folder = execFileSync(
    PYTHON,
    ['-c', 'import botocore, os; print(os.path.dirname(botocore.__file__))'],
    {
      encoding: 'utf8',
    },
  ).trim();
  const file = join(folder, 'data', ...service.split('/'), 'service-2.json.gz');
  return JSON.parse(gunzipSync(readFileSync(file)).toString('utf8')) as ServiceModel;
}

/** Everything about `request` that the operation's model does not allow. */
export function violations(model: ServiceModel, operation: string, request: unknown): Violation[] {
  const input = model.operations[operation]?.input;
  if (input === undefined) throw new Error(`the model has no operation ${operation} with an input`);
  const found: Violation[] = [];
  check({ model, found }, input.shape, request, '');
  return found;
}

/** Every pattern that a request of the operation may meet. */
export function patternsOf(model: ServiceModel, operation: string): string[] {
  const seen = new Set<string>();
  const visit = (name: string | undefined): void => {
    if (name === undefined || seen.has(name)) return;
    seen.add(name);
    const shape = model.shapes[name];
    for (const member of [shape?.member, shape?.key, shape?.value, ...Object.values(shape?.members ?? {})])
      visit(member?.shape);
  };
  visit(model.operations[operation]?.input?.shape);
  return [...seen].flatMap((name) => model.shapes[name]?.pattern ?? []);
}

/** The values that the model allows for an enum. */
export const enumOf = (model: ServiceModel, shape: string): readonly string[] =>
  model.shapes[shape]?.enum ?? [];

interface Walk {
  readonly model: ServiceModel;
  readonly found: Violation[];
}

function check(walk: Walk, shapeName: string, value: unknown, path: string): void {
  const shape = walk.model.shapes[shapeName];
  if (shape === undefined) throw new Error(`the model has no shape ${shapeName}`);
  if (!hasType(shape.type, value)) {
    walk.found.push({ path, rule: 'type', message: `is ${describe(value)}, not a ${shape.type}` });
    return;
  }
  checkRange(walk, shape, value, path);
  if (typeof value === 'string') checkText(walk, shape, value, path);
  if (Array.isArray(value) && shape.member !== undefined) {
    const { member } = shape;
    value.forEach((item: unknown, index) => check(walk, member.shape, item, `${path}[${index}]`));
  }
  if (shape.type === 'structure') checkStructure(walk, shape, Object.entries(value as object), path);
  if (shape.type === 'map') checkMap(walk, shape, Object.entries(value as object), path);
}

const NUMBERS: ReadonlySet<string> = new Set(['integer', 'long', 'float', 'double']);

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isFiniteNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  structure: isObject,
  map: isObject,
  list: Array.isArray,
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  long: Number.isInteger,
  float: isFiniteNumber,
  double: isFiniteNumber,
  timestamp: (value) => value instanceof Date,
  blob: (value) => value instanceof Uint8Array,
};

function hasType(type: string, value: unknown): boolean {
  const test = TYPES[type];
  if (test === undefined) throw new Error(`the model has the type ${type}, which this check does not know`);
  return test(value);
}

function checkRange({ found }: Walk, { min, max, type }: Shape, value: unknown, path: string): void {
  const size = sizeOf(type, value);
  if (size === undefined) return;
  if (min !== undefined && size < min)
    found.push({ path, rule: 'min', message: `has ${size}, at least ${min} wanted` });
  if (max !== undefined && size > max)
    found.push({ path, rule: 'max', message: `has ${size}, at most ${max} allowed` });
}

function sizeOf(type: string, value: unknown): number | undefined {
  if (NUMBERS.has(type) && typeof value === 'number') return value;
  // Unicode code points, as AWS counts them.
  if (typeof value === 'string') return Array.from(value).length;
  if (Array.isArray(value)) return value.length;
  return type === 'map' ? Object.keys(value as object).length : undefined;
}

function checkText({ found }: Walk, shape: Shape, value: string, path: string): void {
  if (shape.pattern !== undefined && !wholeMatch(shape.pattern).test(value)) {
    found.push({
      path,
      rule: 'pattern',
      message: `${JSON.stringify(value)} does not match ${shape.pattern}`,
    });
  }
  if (shape.enum !== undefined && !shape.enum.includes(value)) {
    found.push({
      path,
      rule: 'enum',
      message: `${JSON.stringify(value)} is none of ${shape.enum.slice(0, 10).join(', ')}…`,
    });
  }
}

const compiled = new Map<string, RegExp>();

/** The patterns are Java's and match the whole text. \p{..} needs the u flag, stray escapes such as \_ forbid it. */
export function wholeMatch(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const plain = pattern.replaceAll('\\p{Alnum}', 'a-zA-Z0-9');
  const source = `^(?:${plain.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')})$`;
  const expression = compile(source);
  compiled.set(pattern, expression);
  return expression;
}

function compile(source: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch (error) {
    if (source.includes('\\p{')) throw error;
    return new RegExp(source);
  }
}

function checkStructure(
  walk: Walk,
  shape: Shape,
  entries: readonly (readonly [string, unknown])[],
  path: string,
): void {
  const members = shape.members ?? {};
  const given = entries.filter(([, value]) => value !== undefined);
  const names = new Set(given.map(([name]) => name));
  for (const name of shape.required ?? []) {
    if (!names.has(name))
      walk.found.push({ path: below(path, name), rule: 'required', message: 'is missing' });
  }
  if (shape.union && names.size !== 1) {
    walk.found.push({ path, rule: 'union', message: `has ${names.size} members, exactly one wanted` });
  }
  for (const [name, value] of given) {
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (member === undefined)
      walk.found.push({ path: below(path, name), rule: 'unknown', message: 'is no field of the API' });
    else check(walk, member.shape, value, below(path, name));
  }
}

function checkMap(
  walk: Walk,
  { key, value }: Shape,
  entries: readonly (readonly [string, unknown])[],
  path: string,
): void {
  for (const [name, item] of entries) {
    if (key !== undefined) check(walk, key.shape, name, `${path} key ${JSON.stringify(name)}`);
    if (value !== undefined) check(walk, value.shape, item, `${path}[${JSON.stringify(name)}]`);
  }
}

const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
const describe = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
