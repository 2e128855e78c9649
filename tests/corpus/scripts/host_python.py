rows = []
for _ in range(10**6):
    rows.append([0.0] * 10**7)
