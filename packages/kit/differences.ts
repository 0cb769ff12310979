/** Where documents differ, field by field. */

export interface Difference {
  readonly field: string;
  readonly values: readonly string[];
}

/** Fields that are not the same in all documents, with the value of each. */
export function differingFields(documents: readonly unknown[]): readonly Difference[] {
  const flat = documents.map((document) => fieldsOf(document));
  const names = [...new Set(flat.flatMap((fields) => [...fields.keys()]))].sort();
  return names
    .map((field) => ({ field, values: flat.map((fields) => fields.get(field) ?? '–') }))
    .filter(({ values }) => new Set(values).size > 1);
}

/** Leaves of a document by their paths; a list is one value. */
function fieldsOf(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map(
      value === undefined ? [] : [[path, typeof value === 'string' ? value : JSON.stringify(value)]],
    );
  return new Map(
    Object.entries(value).flatMap(([name, each]) => [
      ...fieldsOf(each, path === '' ? name : `${path}.${name}`),
    ]),
  );
}

interface ComparedRun {
  readonly declaration?: object | undefined;
  readonly generations?: readonly string[] | undefined;
  readonly source?: string | undefined;
}

/** Fields of the declarations, the data and the source that are not the same in all runs. */
export const differingInRuns = (runs: readonly ComparedRun[]): readonly Difference[] =>
  differingFields(
    runs.map(({ declaration, generations, source }) => ({
      ...declaration,
      generations: generations?.join(', '),
      source: source?.slice(0, 12),
    })),
  );
