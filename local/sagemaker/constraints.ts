/** Checks a request body against a closed table of constraints and words what it finds as AWS services do. Pure. */

export type Constraint =
  | {
      readonly kind: 'string';
      readonly min?: number;
      readonly max?: number;
      readonly pattern?: RegExp;
      readonly values?: readonly string[];
    }
  | { readonly kind: 'integer'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'number' }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'list'; readonly of: Constraint; readonly min?: number; readonly max?: number }
  | { readonly kind: 'map'; readonly key: Constraint; readonly value: Constraint; readonly max?: number }
  | Structure;

export interface Structure {
  readonly kind: 'structure';
  readonly required: readonly string[];
  readonly members: Readonly<Record<string, Constraint>>;
}

type Range = { readonly min?: number | undefined; readonly max?: number | undefined };

/** Every way in which the value breaks the constraint, each a sentence that names the place. */
export function violations(value: unknown, constraint: Constraint, path: string): string[] {
  switch (constraint.kind) {
    case 'string':
      return stringViolations(value, constraint, path);
    case 'integer':
      return Number.isSafeInteger(value)
        ? rangeViolations(Number(value), constraint, `Value '${String(value)}' at '${path}'`, 'have value')
        : [wrongType(value, path, 'an integer')];
    case 'number':
      return Number.isFinite(value) ? [] : [wrongType(value, path, 'a number')];
    case 'boolean':
      return typeof value === 'boolean' ? [] : [wrongType(value, path, 'a boolean')];
    case 'list':
    case 'map':
    case 'structure':
      return containerViolations(value, constraint, path);
  }
}

function containerViolations(
  value: unknown,
  constraint: Constraint & { kind: 'list' | 'map' | 'structure' },
  path: string,
): string[] {
  switch (constraint.kind) {
    case 'list':
      return Array.isArray(value)
        ? listViolations(value, constraint, path)
        : [wrongType(value, path, 'a list')];
    case 'map':
      return isObject(value) ? mapViolations(value, constraint, path) : [wrongType(value, path, 'a map')];
    case 'structure':
      return isObject(value)
        ? structureViolations(value, constraint, path)
        : [wrongType(value, path, 'a structure')];
  }
}

function stringViolations(
  value: unknown,
  constraint: Constraint & { kind: 'string' },
  path: string,
): string[] {
  if (typeof value !== 'string') return [wrongType(value, path, 'a string')];
  const place = `Value '${shortened(value)}' at '${path}'`;
  const lengths = rangeViolations(characters(value), constraint, place, 'have length');
  const { pattern, values } = constraint;
  // SageMaker's patterns must match the whole value.
  const isMatching = !pattern || new RegExp(`^(?:${pattern.source})$`, pattern.flags).test(value);
  return [
    ...lengths,
    ...(isMatching
      ? []
      : [
          `${place} failed to satisfy constraint: Member must satisfy regular expression pattern: ${pattern.source}`,
        ]),
    ...(values && !values.includes(value)
      ? [`${place} failed to satisfy constraint: Member must satisfy enum value set: [${values.join(', ')}]`]
      : []),
  ];
}

function listViolations(
  value: readonly unknown[],
  constraint: Constraint & { kind: 'list' },
  path: string,
): string[] {
  return [
    ...rangeViolations(value.length, constraint, `Value at '${path}'`, 'have length'),
    ...value.flatMap((item, index) => violations(item, constraint.of, `${path}.${index + 1}.member`)),
  ];
}

function mapViolations(value: object, constraint: Constraint & { kind: 'map' }, path: string): string[] {
  const entries = Object.entries(value);
  return [
    ...rangeViolations(entries.length, constraint, `Value at '${path}'`, 'have length'),
    ...entries.flatMap(([key, item]) => [
      ...violations(key, constraint.key, `${path}.key`),
      ...violations(item, constraint.value, `${path}.${shortened(key)}.member`),
    ]),
  ];
}

function structureViolations(value: object, constraint: Structure, path: string): string[] {
  const inner = (name: string): string => (path === '' ? lowerFirst(name) : `${path}.${lowerFirst(name)}`);
  const members = new Map<string, unknown>(Object.entries(value).filter(([, item]) => item !== null));
  return [
    ...constraint.required
      .filter((name) => !members.has(name))
      .map((name) => `Value null at '${inner(name)}' failed to satisfy constraint: Member must not be null`),
    ...[...members].flatMap(([name, item]) => {
      const member = Object.hasOwn(constraint.members, name) ? constraint.members[name] : undefined;
      return member
        ? violations(item, member, inner(name))
        : [
            `Value at '${inner(shortened(name))}' failed to satisfy constraint: there is no such member, remove it`,
          ];
    }),
  ];
}

function rangeViolations(size: number, { min, max }: Range, place: string, what: string): string[] {
  return [
    ...(min !== undefined && size < min
      ? [`${place} failed to satisfy constraint: Member must ${what} greater than or equal to ${min}`]
      : []),
    ...(max !== undefined && size > max
      ? [`${place} failed to satisfy constraint: Member must ${what} less than or equal to ${max}`]
      : []),
  ];
}

const wrongType = (value: unknown, path: string, wanted: string): string =>
  `Value of type ${value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value} at '${path}' failed to satisfy constraint: Member must be ${wanted}`;

/** Code points, as AWS counts. */
const characters = (text: string): number => Array.from(text).length;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** Values are hostile: an answer quotes only the beginning of one. */
const shortened = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}...` : text);

/** AWS's opening words and all problems in one message; undefined when there are none. */
export function violationMessage(problems: readonly string[]): string | undefined {
  if (problems.length === 0) return undefined;
  const count = `${problems.length} validation error${problems.length === 1 ? '' : 's'} detected`;
  return `${count}: ${problems.join('; ')}`;
}
