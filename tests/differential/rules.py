"""Which of the rules the aggregator follows already."""

# Instances that come and go are weighted by their presence, and an instance can
# be born.
PRESENCE = True
# Everything else on the page: samples up to 3 intervals before
# the start, `_Total` for each path on its own, mixed intervals, causes and
# coverage without a value and of combinations, groups by counterset and counter.
PAGE = False
