/** The accounts of AWS that hold its training images, one or more for each partition. */
import table from './image-table.json' with { type: 'json' };

const accounts = [...Object.values(table.accounts), ...Object.values(table.algorithmAccounts)];

export const AWS_IMAGE_ACCOUNTS: readonly string[] = [...new Set(accounts)].toSorted();
