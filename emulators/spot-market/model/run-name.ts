/** Attempts of one run differ in what follows the run's name: `<run>-a<attempt>-<salt>`. */
export const runOf = (owner: string): string => owner.replace(/-a\d+-[0-9a-f]{6}$/, '');
