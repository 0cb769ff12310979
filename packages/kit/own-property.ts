/** Names of types, regions and zones come from outside, and JavaScript's objects inherit names such as `constructor`. */

/** The table's own value for a name; undefined if it has none, or if there is no table. */
export const own = <Value>(
  table: Readonly<Record<string, Value>> | undefined,
  name: string,
): Value | undefined => (table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined);
