/**
 * From a text that a person wrote to a declaration with all its problems, and from a stored one to today's shape.
 *
 * In: YAML or JSON. Out: a declaration, or its problems as values. Called by the service where a declaration is registered, pinned
 * or changed, and by the command line.
 */
export {
  changeDeclaration,
  checkDeclaration,
  type Declaration,
  pipelineJsonSchema,
  readDeclaration,
  readStored,
} from './schema/declaration.ts';
export { pastScheduleProblems } from './schema/schedule.ts';
export { writtenValue } from './schema/written-numbers.ts';
