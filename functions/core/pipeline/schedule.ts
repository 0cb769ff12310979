/**
 * Whether EventBridge Scheduler would take a schedule, so that a wrong one is refused with the other problems of its
 * declaration: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
 */

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
/** Of each month, in a leap year. */
const LAST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

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

const FORM = 'write rate(1 day) or cron(0 3 * * ? *): a rate in minutes, hours or days, or six fields';

/** @returns what is wrong with a schedule, and what to write; undefined if Scheduler would take it */
export function scheduleProblem(schedule: string): string | undefined {
  const rate = /^rate\(([1-9]\d{0,5}) (minute|hour|day)(s?)\)$/.exec(schedule);
  if (rate !== null) return rateProblem(rate[1] ?? '', rate[2] ?? '', rate[3] === 's');
  const cron = /^cron\((.*)\)$/.exec(schedule);
  return cron === null ? FORM : cronProblem((cron[1] ?? '').trim().split(/\s+/));
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
  return isNever(dayOfMonth, month)
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

/** Whether no month has any of the days, such as the 31st of February. */
function isNever(dayOfMonth: string, month: string): boolean {
  const all = (field: CronField, text: string) => text.split(',').map((entry) => valuesOf(field, entry));
  const days = all(DAY_OF_MONTH, dayOfMonth);
  // L and W are days that every month has, and ? leaves the day to the week.
  if (days.some((values) => values === undefined)) return false;
  const earliest = Math.min(...days.flatMap((values) => values ?? []));
  const months = all(MONTH, month).flatMap((values) => values ?? []);
  return months.every((each) => (LAST_DAYS[each - 1] ?? 31) < earliest);
}
