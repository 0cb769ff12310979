/** Draws the lattice that `place` uses (ten-minute ticks) and writes it beside the table: node bench/sim/write-lattice.ts */
import { writeFileSync } from 'node:fs';
import { drawLattice } from '../../functions/core/policy/lattice.ts';
import { fittedRegimes } from '../../functions/core/policy/regimes.ts';

const DIGITS = 5;
const file = new URL('../../functions/core/policy/lattice-600.json', import.meta.url);
const text = JSON.stringify(drawLattice(fittedRegimes, 600), (_key, value: unknown) =>
  typeof value === 'number' ? Number(value.toFixed(DIGITS)) : value,
);
writeFileSync(file, `${text}\n`);
console.log(`${file.pathname}: ${text.length} characters`);
