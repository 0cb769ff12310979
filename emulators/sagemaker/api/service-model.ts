import { isTable } from '@tidewheel/kit/tables.ts';

/**
 * Checks a value against one of AWS's service models, in the form in which botocore carries them: types, required and
 * unknown members, lengths, ranges, patterns, enums and unions. Every problem is worded as AWS services word it. Rules
 * between members are in no model. Pure.
 */

interface ShapeReference {
  readonly shape: string;
}

interface Shape {
  readonly type: string;
  readonly members?: Readonly<Record<string, ShapeReference>>;
  readonly required?: readonly string[];
  readonly member?: ShapeReference;
  readonly key?: ShapeReference;
  readonly value?: ShapeReference;
  readonly min?: number;
  readonly max?: number;
  /** A Java regular expression for the whole text. */
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly union?: boolean;
}

export interface ServiceModel {
  readonly operations: Readonly<
    Record<string, { readonly input?: ShapeReference; readonly output?: ShapeReference }>
  >;
  readonly shapes: Readonly<Record<string, Shape>>;
}

export interface Violation {
  /** AWS's notation, such as resourceConfig.instanceGroups.1.member.instanceType; members begin in lower case. */
  readonly path: string;
  readonly rule: 'required' | 'unknown' | 'type' | 'min' | 'max' | 'pattern' | 'enum' | 'union';
  /** A sentence that names the path, the value and the constraint. */
  readonly message: string;
}

/** What differs between a value in a program and the same value in a request's body. */
interface Representation {
  readonly isAbsent: (value: unknown) => boolean;
  readonly isTimestamp: (value: unknown) => boolean;
}

/** The input of a command of AWS's SDK for JavaScript. */
const SDK_INPUT: Representation = {
  isAbsent: (value) => value === undefined,
  isTimestamp: (value) => value instanceof Date,
};

/** A body of the protocol AWS JSON 1.1: a null member is an absent one, a timestamp counts seconds since 1970. */
export const JSON_BODY: Representation = {
  isAbsent: (value) => value === null || value === undefined,
  isTimestamp: Number.isFinite,
};

/** Every way in which `value` breaks the shape, in the order of its members. */
export function violations(
  model: ServiceModel,
  shape: string,
  value: unknown,
  representation: Representation,
): Violation[] {
  return check({ model, representation }, shape, value, '');
}

/** Every way in which a request breaks the input of its operation. Throws if the model has no such operation. */
export function requestViolations(
  model: ServiceModel,
  operation: string,
  request: unknown,
  representation: Representation = SDK_INPUT,
): Violation[] {
  return violations(model, inputShape(model, operation), request, representation);
}

function inputShape(model: ServiceModel, operation: string): string {
  const input = model.operations[operation]?.input;
  if (input === undefined) throw new Error(`the model has no operation ${operation} with an input`);
  return input.shape;
}

/** AWS's opening words and all problems in one message; undefined when there are none. */
export function violationMessage(found: readonly Violation[]): string | undefined {
  if (found.length === 0) return undefined;
  const count = `${found.length} validation error${found.length === 1 ? '' : 's'} detected`;
  return `${count}: ${found.map(({ message }) => message).join('; ')}`;
}

interface Walk {
  readonly model: ServiceModel;
  readonly representation: Representation;
}

function check(walk: Walk, shapeName: string, value: unknown, path: string): Violation[] {
  const shape = walk.model.shapes[shapeName];
  if (shape === undefined) throw new Error(`the model has no shape ${shapeName}`);
  switch (shape.type) {
    case 'structure':
      return isTable(value) ? structureViolations(walk, shape, value, path) : [wrongType(shape, value, path)];
    case 'map':
      return isTable(value) ? mapViolations(walk, shape, value, path) : [wrongType(shape, value, path)];
    case 'list':
      return Array.isArray(value)
        ? listViolations(walk, shape, value, path)
        : [wrongType(shape, value, path)];
    case 'string':
      return typeof value === 'string' ? textViolations(shape, value, path) : [wrongType(shape, value, path)];
    default:
      return plainViolations(walk, shape, value, path);
  }
}

function plainViolations(walk: Walk, shape: Shape, value: unknown, path: string): Violation[] {
  if (!hasPlainType(walk, shape.type, value)) return [wrongType(shape, value, path)];
  return typeof value === 'number'
    ? rangeViolations(shape, value, 'have value', { path, subject: `Value '${value}'` })
    : [];
}

function hasPlainType({ representation }: Walk, type: string, value: unknown): boolean {
  switch (type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
    case 'long':
      return Number.isSafeInteger(value);
    case 'float':
    case 'double':
      return Number.isFinite(value);
    case 'timestamp':
      return representation.isTimestamp(value);
    case 'blob':
      return value instanceof Uint8Array;
    default:
      throw new Error(`the model has the type ${type}, which this check does not know`);
  }
}

function structureViolations(
  walk: Walk,
  { members = {}, required = [], union }: Shape,
  value: Readonly<Record<string, unknown>>,
  path: string,
): Violation[] {
  const inner = (name: string): string => (path === '' ? lowerFirst(name) : `${path}.${lowerFirst(name)}`);
  const given = Object.entries(value).filter(([, item]) => !walk.representation.isAbsent(item));
  const names = new Set(given.map(([name]) => name));
  return [
    ...required
      .filter((name) => !names.has(name))
      .map((name) =>
        violation('required', { path: inner(name), subject: 'Value null' }, 'Member must not be null'),
      ),
    ...(union && names.size !== 1
      ? [violation('union', { path, subject: 'Value' }, `Exactly one member must be set, not ${names.size}`)]
      : []),
    ...given.flatMap(([name, item]) => {
      // A body may name a member `constructor`.
      const member = Object.hasOwn(members, name) ? members[name] : undefined;
      if (member) return check(walk, member.shape, item, inner(name));
      const place = { path: inner(shortened(name)), subject: 'Value' };
      return [violation('unknown', place, 'there is no such member, remove it')];
    }),
  ];
}

function mapViolations(
  walk: Walk,
  shape: Shape,
  value: Readonly<Record<string, unknown>>,
  path: string,
): Violation[] {
  const entries = Object.entries(value);
  return [
    ...rangeViolations(shape, entries.length, 'have length', { path, subject: 'Value' }),
    ...entries.flatMap(([key, item]) => [
      ...(shape.key ? check(walk, shape.key.shape, key, `${path}.key`) : []),
      ...(shape.value ? check(walk, shape.value.shape, item, `${path}.${shortened(key)}.member`) : []),
    ]),
  ];
}

function listViolations(walk: Walk, shape: Shape, value: readonly unknown[], path: string): Violation[] {
  const { member } = shape;
  return [
    ...rangeViolations(shape, value.length, 'have length', { path, subject: 'Value' }),
    ...(member
      ? value.flatMap((item, index) => check(walk, member.shape, item, `${path}.${index + 1}.member`))
      : []),
  ];
}

function textViolations(shape: Shape, value: string, path: string): Violation[] {
  const place = { path, subject: `Value '${shortened(value)}'` };
  const { pattern, enum: values } = shape;
  // AWS counts code points.
  const found = rangeViolations(shape, Array.from(value).length, 'have length', place);
  if (pattern !== undefined && !wholeMatch(pattern).test(value)) {
    found.push(violation('pattern', place, `Member must satisfy regular expression pattern: ${pattern}`));
  }
  if (values !== undefined && !values.includes(value)) {
    found.push(violation('enum', place, `Member must satisfy enum value set: [${values.join(', ')}]`));
  }
  return found;
}

interface Place {
  readonly path: string;
  /** The value, as a message quotes it. */
  readonly subject: string;
}

function rangeViolations(
  { min, max }: Shape,
  size: number,
  what: 'have length' | 'have value',
  place: Place,
): Violation[] {
  return [
    ...(min !== undefined && size < min
      ? [violation('min', place, `Member must ${what} greater than or equal to ${min}`)]
      : []),
    ...(max !== undefined && size > max
      ? [violation('max', place, `Member must ${what} less than or equal to ${max}`)]
      : []),
  ];
}

function wrongType({ type }: Shape, value: unknown, path: string): Violation {
  const given = value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value;
  const wanted = type === 'integer' || type === 'long' ? 'an integer' : `a ${type}`;
  return violation('type', { path, subject: `Value of type ${given}` }, `Member must be ${wanted}`);
}

const violation = (rule: Violation['rule'], { path, subject }: Place, constraint: string): Violation => ({
  path,
  rule,
  message: `${subject} at '${path}' failed to satisfy constraint: ${constraint}`,
});

const compiled = new Map<string, RegExp>();

/** The pattern as an expression that matches whole texts only. Throws if JavaScript has no such expression. */
export function wholeMatch(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  // Java takes an end that is repeated, such as `${1,256}`.
  const plain = pattern.replaceAll('\\p{Alnum}', 'a-zA-Z0-9').replace(/\$\{\d+,\d+\}$/, '');
  const expression = compile(`^(?:${plain.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')})$`);
  compiled.set(pattern, expression);
  return expression;
}

/** Java's \p{L} needs the flag u, which refuses Java's needless escapes such as \_. */
function compile(source: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch (error) {
    if (source.includes('\\p{')) throw error;
    return new RegExp(source);
  }
}

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** Values are hostile: an answer quotes only the beginning of one. */
const shortened = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}...` : text);
