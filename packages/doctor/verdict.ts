/**
 * The words of a diagnosis: verdicts, gains, changes of the declaration, and readings.
 *
 * Out: schemas and types, which records and the API are made of. Called by the records, the API, placement and the page.
 */

export { type DeclaredField, declaredFields, editDeclaration, isDeclared } from './rules/declared-change.ts';
export { formatVerdicts } from './rules/format-verdicts.ts';
export { gainText } from './rules/gain.ts';
export { type HostReading, readingOf, readingSchema } from './rules/reading.ts';
export { speedOf, speedSchema } from './rules/speed.ts';
export {
  type Cause,
  type Change,
  changeSchema,
  remedyOf,
  shownVerdictSchema,
  type Verdict,
  verdictSchema,
} from './rules/verdict.ts';
