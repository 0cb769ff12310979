/**
 * Whether EventBridge Scheduler would take a schedule, so that a wrong one is refused with the other problems of its
 * declaration: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
 */
import type { Problem } from '@tidewheel/kit/errors.ts';

/** The outer form, for editors that check a declaration by its JSON schema. */
export const SCHEDULE_PATTERN = '^(rate|cron)\\(.+\\)$';

interface CronField {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Names of the values, from the first one on. */
  readonly names?: readonly string[];
  /** What else one entry of the field may be. */
  readonly also?: RegExp;
  /** Takes `?`: no value here, because the other field of the day has one. */
  readonly mayBeOpen?: boolean;
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'] as const;
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;

const MINUTES: CronField = { name: 'minutes', from: 0, to: 59 };
const HOURS: CronField = { name: 'hours', from: 0, to: 23 };
const DAY_OF_MONTH: CronField = {
  name: 'day of month',
  from: 1,
  to: 31,
  also: /^(L|LW|([1-9]|[12]\d|3[01])W)$/,
  mayBeOpen: true,
};
const MONTH: CronField = { name: 'month', from: 1, to: 12, names: MONTHS };
const DAY_OF_WEEK: CronField = {
  name: 'day of week',
  from: 1,
  to: 7,
  names: DAYS,
  also: new RegExp(`^(L|([1-7]|${DAYS.join('|')})(L|#[1-5]))$`),
  mayBeOpen: true,
};
const YEAR: CronField = { name: 'year', from: 1970, to: 2199 };
const FIELDS = [MINUTES, HOURS, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR] as const;

/** Scheduler's own limit of ScheduleExpression. */
const MOST_CHARACTERS = 256;

const FORM = 'write rate(1 day) or cron(0 3 * * ? *): a rate in minutes, hours or days, or six fields';

/** @returns what is wrong with a schedule, and what to write; undefined if Scheduler would take it */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.length > MOST_CHARACTERS)
    return `has ${schedule.length} characters, and Scheduler takes ${MOST_CHARACTERS}: write ranges and steps, as 1-5 or */2`;
  const rate = /^rate\(([1-9]\d{0,5}) (minute|hour|day)(s?)\)$/.exec(schedule);
  if (rate !== null) return rateProblem(rate[1] ?? '', rate[2] ?? '', rate[3] === 's');
  const cron = cronFields(schedule);
  return cron === undefined ? FORM : cronProblem(cron);
}

const cronFields = (schedule: string): readonly string[] | undefined =>
  /^cron\((.*)\)$/.exec(schedule)?.[1]?.trim().split(/\s+/);

/**
 * Why a schedule starts no run any more, such as cron(0 3 * * ? 2020). A rule for new declarations only: the dates of a
 * stored one pass by themselves.
 * @param declaredAt not the time of the look: every look at the bucket judges a declaration alike
 */
export function pastScheduleProblems(
  { schedule }: { readonly schedule?: string | undefined },
  declaredAt: Date,
): readonly Problem[] {
  const cron = schedule === undefined ? undefined : cronFields(schedule);
  const last = cron && lastDate(cron);
  if (cron === undefined || (last !== undefined && last >= declaredAt.getTime())) return [];
  const why =
    last === undefined
      ? 'no year that it names has such a day'
      : `all of its dates are before ${declaredAt.toISOString().slice(0, 16)}Z`;
  const message = `is "${schedule}": ${why}, so it starts no run: write * for the year, or a later one`;
  return [{ path: 'schedule', message }];
}

function rateProblem(value: string, unit: string, isPlural: boolean): string | undefined {
  if ((value === '1') !== isPlural) return undefined;
  return `write rate(${value} ${unit}${isPlural ? '' : 's'}): one has the singular, more have the plural`;
}

function cronProblem(given: readonly string[]): string | undefined {
  if (given.length !== FIELDS.length)
    return `cron has six fields (${FIELDS.map(({ name }) => name).join(', ')}), and ${given.length} are given`;
  for (const [index, field] of FIELDS.entries()) {
    const problem = fieldProblem(field, given[index] ?? '');
    if (problem !== undefined) return problem;
  }
  const [, , dayOfMonth = '', month = '', dayOfWeek = ''] = given;
  if ((dayOfMonth === '?') === (dayOfWeek === '?'))
    return 'exactly one of day of month and day of week must be ?, as in cron(0 3 * * ? *)';
  const inAnyYear = [...given.slice(0, -1), '*'];
  return lastDate(inAnyYear) === undefined
    ? `no month of ${month} has a day ${dayOfMonth}, so it never comes`
    : undefined;
}

function fieldProblem(field: CronField, text: string): string | undefined {
  if (text === '?')
    return field.mayBeOpen ? undefined : `${field.name} is "?", which only a day may be: write * or a value`;
  const wrong = text
    .split(',')
    .find((entry) => !field.also?.test(entry) && valuesOf(field, entry) === undefined);
  if (wrong === undefined) return undefined;
  const names = field.names === undefined ? '' : ` or ${field.names[0]} to ${field.names.at(-1)}`;
  return `${field.name} is "${text}": write * or values from ${field.from} to ${field.to}${names}, as 1,2 or 1-5 or */2`;
}

/** The values that one entry of a list names: `*`, `5`, `1-5`, and any of these with a step; undefined if it is none. */
function valuesOf(field: CronField, entry: string): readonly number[] | undefined {
  const [, range = '', step = '1'] = /^([^/]+)(?:\/([1-9]\d{0,3}))?$/.exec(entry) ?? [];
  const [first, last = first, ...more] =
    range === '*' ? [field.from, field.to] : range.split('-').map(valueIn(field));
  if (first === undefined || last === undefined || more.length > 0 || first > last) return undefined;
  // A start with a step, such as 5/15, goes on to the end.
  const end = entry.includes('/') && !range.includes('-') ? field.to : last;
  const count = Math.floor((end - first) / Number(step)) + 1;
  return Array.from({ length: count }, (_, index) => first + index * Number(step));
}

const valueIn =
  ({ from, to, names = [] }: CronField) =>
  (text: string): number | undefined => {
    const named = names.indexOf(text.toUpperCase());
    const value = named >= 0 ? from + named : /^\d{1,4}$/.test(text) ? Number(text) : undefined;
    return value !== undefined && value >= from && value <= to ? value : undefined;
  };

/** In milliseconds since 1970: the last date, or a moment after it. */
function lastDate([minutes, hours, dayOfMonth, month, , year]: readonly string[]): number | undefined {
  const days = lastDays(dayOfMonth);
  const [hour] = descending(HOURS, hours);
  const [minute] = descending(MINUTES, minutes);
  for (const each of descending(YEAR, year))
    for (const within of descending(MONTH, month)) {
      const length = new Date(Date.UTC(each, within, 0)).getUTCDate();
      const day = days === undefined ? length : days.find((value) => value <= length);
      if (day !== undefined) return Date.UTC(each, within - 1, day, hour, minute);
    }
  return undefined;
}

/** undefined for L, W and the days of a week, which come in every month: at its end, at the latest. */
function lastDays(dayOfMonth = ''): readonly number[] | undefined {
  const isNamed = dayOfMonth.split(',').every((entry) => valuesOf(DAY_OF_MONTH, entry) !== undefined);
  return isNamed ? descending(DAY_OF_MONTH, dayOfMonth) : undefined;
}

const descending = (field: CronField, text = ''): readonly number[] =>
  [...new Set(text.split(',').flatMap((entry) => valuesOf(field, entry) ?? []))].toSorted((a, b) => b - a);
