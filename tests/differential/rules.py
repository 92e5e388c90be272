"""Which of the rules the aggregator follows already."""

# Expressions with numbers, parentheses and several operators.
EXPRESSIONS = False
