/** Reads the parameters of EC2's Query protocol: `Name`, lists as `Name.1`, structures as `Name.Member`. */
import { Ec2Error } from './ec2-error.ts';

export interface Filter {
  readonly name: string;
  readonly values: readonly string[];
}

export interface Ec2Query {
  text(name: string): string | undefined;
  integer(name: string, range?: { readonly minimum: number; readonly maximum: number }): number | undefined;
  isTrue(name: string): boolean;
  time(name: string): Date | undefined;
  /** `Name.1`, `Name.2`, ... in the order of their numbers. */
  list(name: string): readonly string[];
  filters(): readonly Filter[];
  /** Names that begin with the prefix, without it. */
  under(prefix: string): ReadonlyMap<string, string>;
}

export function readQuery(parameters: URLSearchParams): Ec2Query {
  const text = (name: string): string | undefined => parameters.get(name) ?? undefined;

  const integer: Ec2Query['integer'] = (name, range) => {
    const value = text(name);
    if (value === undefined) return undefined;
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (Number.isNaN(number)) throw invalid(name, value, 'it must be a whole number');
    if (range && (number < range.minimum || number > range.maximum)) {
      throw invalid(name, value, `it must be between ${range.minimum} and ${range.maximum}`);
    }
    return number;
  };

  const isTrue = (name: string): boolean => {
    const value = text(name) ?? 'false';
    if (value !== 'true' && value !== 'false') throw invalid(name, value, 'it must be true or false');
    return value === 'true';
  };

  const time = (name: string): Date | undefined => {
    const value = text(name);
    if (value === undefined) return undefined;
    const date = new Date(value);
    if (Number.isNaN(date.getTime()))
      throw invalid(name, value, 'it must be a time such as 2026-01-31T12:00:00Z');
    return date;
  };

  const list = (name: string): readonly string[] => numbered(parameters, name).map(([, value]) => value);

  const filters = (): readonly Filter[] => {
    const numbers = new Set([...parameters.keys()].flatMap((key) => /^Filter\.(\d+)\./.exec(key)?.[1] ?? []));
    return [...numbers].map((number) => ({
      name: text(`Filter.${number}.Name`) ?? '',
      values: list(`Filter.${number}.Value`),
    }));
  };

  const under = (prefix: string): ReadonlyMap<string, string> =>
    new Map(
      [...parameters].flatMap(([key, value]) =>
        key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
      ),
    );

  return { text, integer, isTrue, time, list, filters, under };
}

function numbered(parameters: URLSearchParams, name: string): readonly (readonly [number, string])[] {
  return [...parameters]
    .flatMap(([key, value]) => {
      const number = key.startsWith(`${name}.`) ? key.slice(name.length + 1) : '';
      return /^\d+$/.test(number) ? [[Number(number), value] as const] : [];
    })
    .sort(([a], [b]) => a - b);
}

export const invalid = (name: string, value: string, remedy: string): Ec2Error =>
  new Ec2Error('InvalidParameterValue', `Value (${value}) for parameter ${name} is invalid: ${remedy}.`);
