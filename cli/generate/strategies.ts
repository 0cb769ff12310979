/** The agent's copy of the table of strategies. */
import { STRATEGIES, type StrategyTraits, strategyTraits } from '../../functions/core/pipeline/strategies.ts';

/** The traits that the agent asks for; the service alone uses the others. */
const AGENT_TRAITS = ['otherGroups', 'savedBy'] as const satisfies readonly (keyof StrategyTraits)[];

/** A module of Python as ruff formats it. */
export function strategiesModule(): string {
  const fields = AGENT_TRAITS.map((trait) => `    ${snakeCase(trait)}: ${typeOf(trait)}`);
  const table = STRATEGIES.map((name) => {
    const values = AGENT_TRAITS.map((trait) => `${snakeCase(trait)}=${literal(strategyTraits[name][trait])}`);
    return `    "${name}": StrategyTraits(${values.join(', ')}),`;
  });
  return `${HEADER}
@dataclass(frozen=True)
class StrategyTraits:
    """The table in TypeScript explains the traits."""

${fields.join('\n')}


TRAITS: dict[str, StrategyTraits] = {
${table.join('\n')}
}
`;
}

const HEADER = `"""What the agent must know of each strategy.

\`npm run generate\` writes this file from functions/core/pipeline/strategies.ts: change that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

`;

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const literal = (value: string): string => `"${snakeCase(value)}"`;

/** The values that occur: mypy then refuses a comparison with any other. */
const typeOf = (trait: (typeof AGENT_TRAITS)[number]): string =>
  `Literal[${[...new Set(STRATEGIES.map((name) => literal(strategyTraits[name][trait])))].join(', ')}]`;
