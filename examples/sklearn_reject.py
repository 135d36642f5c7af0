"""A scikit-learn classifier that can reject: the error among the answered rows against their share."""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from slova.sklearn import SlovaClassifier

pixels, digits = load_digits(return_X_y=True)
train_pixels, test_pixels, train_digits, test_digits = train_test_split(pixels, digits, test_size=600, random_state=0)

forest = RandomForestClassifier(15, max_depth=6, random_state=0)
model = SlovaClassifier(forest, none_label="unsure")
model.fit(train_pixels, train_digits.astype(str))

for threshold in (0.0, 0.5, 0.8, 0.95):
    answers = model.predict(test_pixels, reject=threshold)
    answered = answers != "unsure"
    error = (answers != test_digits.astype(str))[answered].mean()
    print(f"threshold {threshold:4.2f}: answered {answered.mean():6.1%}, wrong {error:6.2%}")
print(f"Above {threshold} the forest answers {answered.mean():.0%} of the digits, {error:.2%} of these wrong.")
