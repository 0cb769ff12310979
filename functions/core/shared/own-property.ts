/** Names of types, regions and zones come from outside, and every object knows some names that its table does not hold. */

/** What a table itself has under a name, whatever the name; undefined of no table. */
export const own = <Value>(
  table: Readonly<Record<string, Value>> | undefined,
  name: string,
): Value | undefined => (table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined);
